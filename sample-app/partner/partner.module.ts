import { Module } from '@nestjs/common';
import { PartnerController } from './partner.controller.js';
import { PartnerGuard } from './partner.guard.js';
import { Partner } from './partner.js';

/** A webhook, from both ends. */
@Module({ controllers: [PartnerController], providers: [Partner, PartnerGuard] })
export class PartnerModule {}
