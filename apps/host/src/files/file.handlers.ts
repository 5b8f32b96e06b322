import { Inject, Injectable } from '@nestjs/common'
import { contract, type InputOf } from '#common/contract/index.js'
import { Handles } from '#common/kernel/bus/handles.decorator.js'
import type { Context } from '#common/kernel/context.js'
import { FileService } from './file.service.js'

@Injectable()
export class FileHandlers {
  constructor(@Inject(FileService) private readonly files: FileService) {}

  @Handles(contract['files.read'])
  read(ctx: Context, input: InputOf<(typeof contract)['files.read']>) {
    return this.files.read(ctx, input)
  }

  @Handles(contract['files.write'])
  write(ctx: Context, input: InputOf<(typeof contract)['files.write']>) {
    return this.files.write(ctx, input)
  }

  @Handles(contract['files.list'])
  list(ctx: Context, input: InputOf<(typeof contract)['files.list']>) {
    return this.files.list(ctx, input)
  }
}
