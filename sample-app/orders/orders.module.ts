import { Module } from '@nestjs/common';
import { OrderImport } from './order-import.js';
import { OrderReports } from './order-reports.js';
import { OrdersController } from './orders.controller.js';
import { OrdersService } from './orders.service.js';

@Module({
  controllers: [OrdersController],
  providers: [OrdersService, OrderImport, OrderReports],
})
export class OrdersModule {}
