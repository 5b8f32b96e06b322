import { ToolError } from './tool.js'

/** The types that are asked for most, as ripgrep knows them; for where it isn't installed. */
const types: Readonly<Record<string, string>> = {
  c: '*.{c,h,H,cats}',
  cpp: '*.{C,H,cc,cpp,cxx,hh,hpp,hxx,inl}',
  cs: '*.cs',
  css: '*.{css,scss}',
  csv: '*.csv',
  docker: '*Dockerfile*',
  go: '*.go',
  html: '*.{htm,html,ejs}',
  java: '*.{java,jsp,jspx,properties}',
  js: '*.{js,jsx,vue,cjs,mjs}',
  json: '*.{json,sarif}',
  kotlin: '*.{kt,kts}',
  lua: '*.lua',
  make: '{*.mk,*.mak,[Gg][Nn][Uu]makefile,[Mm]akefile}',
  markdown: '*.{md,markdown,mdown,mkdn,mdwn,mkd,mdx}',
  md: '*.{md,markdown,mdown,mkdn,mdwn,mkd,mdx}',
  php: '*.{php,php3,php4,php5,phtml}',
  py: '*.{py,pyi}',
  ruby: '{*.rb,*.rbw,*.gemspec,Gemfile,Rakefile,config.ru,.irbrc}',
  rust: '*.rs',
  sh: '{*.sh,*.bash,*.zsh,*.ksh,.bashrc,.profile,.zshrc}',
  sql: '*.{sql,psql}',
  swift: '*.swift',
  toml: '{*.toml,Cargo.lock}',
  ts: '*.{ts,tsx,cts,mts}',
  txt: '*.txt',
  xml: '*.{xml,xsd,xsl,xslt,dtd,rng,sch,xhtml}',
  yaml: '*.{yaml,yml}',
}

/** @throws ToolError that lists the types there are */
export const globOfType = (type: string): string => {
  const glob = Object.hasOwn(types, type) ? types[type] : undefined
  if (glob === undefined)
    throw new ToolError(
      `There is no type "${type.slice(0, 40)}". There are ${Object.keys(types).join(', ')}; or use glob.`,
    )
  return glob
}
