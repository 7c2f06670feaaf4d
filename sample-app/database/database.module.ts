import { Global, Module } from '@nestjs/common';
import { Database, openDatabase } from './database.js';

@Global()
@Module({
  providers: [{ provide: Database, useFactory: openDatabase }],
  exports: [Database],
})
export class DatabaseModule {}
