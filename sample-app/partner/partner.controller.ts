import { Controller, Get, Headers, HttpCode, Post, UseGuards } from '@nestjs/common';
import { PartnerGuard } from './partner.guard.js';
import { Partner } from './partner.js';

/** The partner's server. */
@Controller('partner')
export class PartnerController {
  constructor(private readonly partner: Partner) {}

  @Post('orders')
  @HttpCode(200)
  @UseGuards(PartnerGuard)
  receive(@Headers('webhook-id') id: string): string {
    if (this.partner.received.has(id)) return 'thank you, I have that one';
    this.partner.received.add(id);
    return 'thank you';
  }

  /** How many orders the partner knows of since the shop was started. */
  @Get('orders')
  count(): { readonly received: number } {
    return { received: this.partner.received.size };
  }
}
