// Out of the namespaces, by privilege, devices and the kernel's own files.
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { sh, systemCall, targets, told } from './inside.mjs'

const { dataDir, pids } = targets
const refused =
  /(Operation not permitted|Permission denied|Read-only file system|EPERM|EACCES|EROFS|No such file|ENOENT)/i
const isRefused = ({ code, said }) => code !== 0 && !said.includes('through')

/** A command that says `through` where it works. */
const command = (name, why, line) => ({ name, why, attempt: () => sh(`${line} && echo through`), held: isRefused })

const kernel = (name, why, ...args) => ({
  name: `asks the kernel for ${name}`,
  needsPerl: true,
  why,
  attempt: async () => (await systemCall(name, ...args)).said,
  held: (said) => /= -1 (Operation not permitted|No space left on device|Function not implemented)/.test(said),
})

/** Writes what stands there already, so that nothing changes where it goes through. */
const rewrite = (path) => ({
  name: `writes ${path}`,
  why: "the kernel's settings are read-only",
  attempt: () =>
    told(() => {
      writeFileSync(path, readFileSync(path))
      return 'through'
    }),
  held: (said) => refused.test(said),
})

const noPrivilege = 'it has no privilege, and gets none'

export const systemTries = () => [
  command('binds a directory elsewhere', noPrivilege, 'mount --bind /usr /tmp'),
  command('mounts a file system', noPrivilege, 'mount -t tmpfs none /tmp'),
  command('mounts a /proc of its own', noPrivilege, 'mount -t proc proc /proc'),
  command('makes the system writable', noPrivilege, 'mount -o remount,rw /usr'),
  command('takes a mount away', noPrivilege, `umount ${dataDir} || umount /tmp || umount -l /proc`),
  command('makes a mount namespace', noPrivilege, 'unshare -m true'),
  command('makes a user namespace again', 'more of them are refused', 'unshare -U -r true'),
  command('makes all namespaces again', 'more of them are refused', 'unshare -U -r -m -p -f -n true'),
  command("enters its init's namespaces", 'they are its own, and closed', 'nsenter -t 1 -a true'),
  command('enters the namespaces of the host', 'there is no such process', `nsenter -t ${pids.host} -a true`),
  command('changes its root', noPrivilege, 'chroot /proc/1/root /bin/true'),
  command('makes a device of a disk', noPrivilege, 'mknod disk b 8 0'),
  command('makes a device of the memory', noPrivilege, 'mknod memory c 1 1'),
  command(
    'becomes root by su',
    'set-uid is without effect',
    'su -s /bin/bash root -c "test -r /etc/shadow" </dev/null',
  ),
  command('becomes root by sudo', 'set-uid is without effect', 'sudo -n test -r /etc/shadow'),
  command('becomes root by pkexec', 'set-uid is without effect', 'pkexec --disable-internal-agent test -r /etc/shadow'),
  command('changes owners', noPrivilege, 'touch owned && chown 12345:12345 owned'),
  command('reads /etc/shadow', 'what not everybody may read of /etc is masked', 'test -s /etc/shadow'),
  command('writes into /usr', 'the system is read-only', 'touch /usr/bin/svc-attack'),
  command('writes into /etc', 'the system is read-only', 'touch /etc/ld.so.preload /etc/cron.d/svc-attack'),
  command("changes svc's own program", 'the installation is read-only', 'echo >> "$(readlink -f "$(command -v svc)")"'),
  command(
    'changes the Node that runs it',
    'the installation is read-only',
    'echo >> "$(readlink -f "$(command -v node)")"',
  ),
  command('asks the kernel for help by sysrq', 'it is read-only', 'echo h > /proc/sysrq-trigger'),
  command('makes itself the last to be killed', noPrivilege, 'echo -1000 > /proc/self/oom_score_adj'),
  command('mounts the control groups', noPrivilege, 'mkdir -p cg && mount -t cgroup2 none cg'),
  command('writes a release_agent', 'no control group is seen', 'ls /sys/fs/cgroup/*/release_agent'),
  command('raises its limits', noPrivilege, 'ulimit -Hc 1000 && ulimit -c 1000'),
  command('types into its terminal', 'it has none', 'exec 3<>/dev/tty'),
  {
    name: 'has a privilege',
    why: 'all capabilities are dropped, for ever',
    attempt: () => readFileSync('/proc/self/status', 'utf8'),
    held: (said) => /^CapEff:\s+0+$/m.test(said) && /^CapBnd:\s+0+$/m.test(said) && /^NoNewPrivs:\s+1$/m.test(said),
  },
  {
    name: 'finds disks or memory in /dev',
    why: 'it has the least /dev',
    attempt: () => readdirSync('/dev').filter((name) => isDevice(`/dev/${name}`)),
    held: (said) => said.every((name) => /^(null|zero|full|random|urandom|tty|console|ptmx)$/.test(name)),
  },
  {
    name: 'sees control groups, firmware or modules in /sys',
    why: 'there is no /sys',
    attempt: () => String(existsSync('/sys/fs') || existsSync('/sys/kernel')),
    held: (said) => said === 'false',
  },
  ...['core_pattern', 'hostname', 'modprobe', 'randomize_va_space'].map((name) => rewrite(`/proc/sys/kernel/${name}`)),
  kernel('unshare', 'more namespaces are refused', '0x10000000'),
  kernel('pivot_root', noPrivilege, '"/tmp"', '"/tmp"'),
  kernel('chroot', noPrivilege, '"/tmp"'),
  kernel('sethostname', noPrivilege, '"evil"', 4),
  kernel('init_module', noPrivilege, '""', 0, '""'),
  kernel('kexec_load', noPrivilege, 0, 0, 0, 0),
  kernel('acct', noPrivilege, 0),
  kernel('reboot', noPrivilege, 0, 0, 0, 0),
  kernel('swapon', noPrivilege, '"/nothing"', 0),
]

const isDevice = (path) => {
  const stat = statSync(path, { throwIfNoEntry: false })
  return stat !== undefined && (stat.isBlockDevice() || stat.isCharacterDevice())
}
