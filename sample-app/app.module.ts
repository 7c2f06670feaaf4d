import { Module } from '@nestjs/common';
// In your application this is 'nestjs-tarefa', here and everywhere below.
import { QueueModule } from '../lib/index.js';
import { DatabaseModule } from './database/database.module.js';
import { HealthController } from './health/health.controller.js';
import { HomeController } from './home/home.controller.js';
import { OrdersModule } from './orders/orders.module.js';
import { PartnerModule } from './partner/partner.module.js';
import { settings } from './settings.js';
import { StaffGuard } from './staff/staff.guard.js';
import { SubscribersModule } from './subscribers/subscribers.module.js';

const { role, publicUrl } = settings;
// The partner of this example is on this computer, or where the shop is; other URLs lead to the public internet.
const allowedAddresses = ['127.0.0.1', '::1', 'localhost', ...(publicUrl ? [publicUrl.hostname] : [])];

@Module({
  imports: [
    DatabaseModule,
    OrdersModule,
    SubscribersModule,
    PartnerModule,
    // Last: its worker starts after the modules above, and has finished before they are torn down.
    QueueModule.forRoot({
      connection: settings.databaseUrl ?? 'embedded',
      embeddedDataDir: settings.embeddedDataDir,
      queue: 'shop_queue',
      // Of several processes none makes tables: `tarefa migrate` has made them before.
      schema: role === 'all' ? 'create' : 'check',
      worker: role !== 'producer',
      webhooks: role === 'worker' ? false : { allowedAddresses },
      // http://localhost:3000/queues, for the staff.
      dashboard: { path: '/queues', guards: [StaffGuard], actions: true, actor: () => 'staff' },
    }),
  ],
  controllers: [HomeController, HealthController],
})
export class AppModule {}
