import { Module } from '@nestjs/common';
import { MailServer } from './mail-server.js';
import { ReceiptSubscriber } from './receipt.subscriber.js';
import { SearchIndexSubscriber } from './search-index.subscriber.js';
import { StockSubscriber } from './stock.subscriber.js';
import { SurveyTask } from './survey.task.js';

/**
 * What happens after an order was placed. Handlers are plain providers; their decorators are all it takes. Who receives what
 * is a table: their rows are made at the first start, and are the operator's from then on, who may switch one off or add one
 * while the shop runs.
 */
@Module({
  providers: [SearchIndexSubscriber, ReceiptSubscriber, StockSubscriber, SurveyTask, MailServer],
})
export class SubscribersModule {}
