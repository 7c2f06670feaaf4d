import {
  BadRequestException,
  Body,
  Controller,
  Get,
  HttpCode,
  NotFoundException,
  Param,
  Post,
  Req,
} from '@nestjs/common';
import type { IncomingMessage } from 'node:http';
import { OrderImport, type ImportReport } from './order-import.js';
import { OrderProblem, readOrder } from './order-input.js';
import { OrderReports, type OrderReport } from './order-reports.js';
import type { OrderInput } from './order.js';
import { OrdersService, type PlacedOrder } from './orders.service.js';

export const importPath = '/orders/import';

@Controller('orders')
export class OrdersController {
  constructor(
    private readonly orders: OrdersService,
    private readonly orderImport: OrderImport,
    private readonly reports: OrderReports,
  ) {}

  @Post()
  place(@Body() json: string | undefined): Promise<PlacedOrder> {
    return this.orders.place(readOrRefuse(json ?? ''));
  }

  @Post('import')
  @HttpCode(200)
  import(@Req() request: IncomingMessage): Promise<ImportReport> {
    return this.orderImport.run(request);
  }

  @Get(':id')
  async find(@Param('id') id: string): Promise<OrderReport> {
    if (!/^\d{1,9}$/.test(id)) {
      throw new BadRequestException(`an order's id is a whole number of at most 9 digits; got "${id}"`);
    }
    const report = await this.reports.find(Number(id));
    if (!report) throw new NotFoundException(`there is no order ${id}`);
    return report;
  }
}

function readOrRefuse(json: string): OrderInput {
  try {
    return readOrder(json);
  } catch (error) {
    if (error instanceof OrderProblem) throw new BadRequestException(error.message);
    throw error;
  }
}
