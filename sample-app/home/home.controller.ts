import { Controller, Get, Header, Headers } from '@nestjs/common';
import { settings } from '../settings.js';
import { guide } from './guide.js';

@Controller()
export class HomeController {
  /** What there is, for whoever comes to the bare address. The staff's password is not told. */
  @Get()
  @Header('Content-Type', 'text/plain; charset=utf-8')
  home(@Headers('host') host: string): string {
    const address = settings.publicUrl?.origin ?? `http://${host}`;
    return `The shop is open.\n\n${guide(address, 'the password that was printed when the shop started')}`;
  }
}
