import { Injectable } from '@nestjs/common';
import { WebhookGuard } from '../../lib/index.js';
import { Partner } from './partner.js';

/** Lets only messages through that the partner's secret has signed. */
@Injectable()
export class PartnerGuard extends WebhookGuard {
  constructor(partner: Partner) {
    super({ secrets: () => partner.secret ?? [] });
  }
}
