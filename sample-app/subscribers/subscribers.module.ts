import { Module } from '@nestjs/common';
import { MailServer } from './mail-server.js';
import { ReceiptSubscriber } from './receipt.subscriber.js';
import { SearchIndexSubscriber } from './search-index.subscriber.js';
import { StockSubscriber } from './stock.subscriber.js';
import { Subscriptions } from './subscriptions.js';
import { SurveyTask } from './survey.task.js';

/** What happens after an order was placed. Handlers are plain providers; their decorators are all it takes. */
@Module({
  providers: [
    Subscriptions,
    SearchIndexSubscriber,
    ReceiptSubscriber,
    StockSubscriber,
    SurveyTask,
    MailServer,
  ],
})
export class SubscribersModule {}
