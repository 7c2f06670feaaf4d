import { createShop } from './shop.js';
import { Partner } from './partner/partner.js';
import { settings } from './settings.js';
import { welcome } from './welcome.js';

const shop = await createShop();
try {
  await shop.listen(settings.port, settings.host);
  if (settings.role !== 'worker') {
    await shop.get(Partner).subscribe(settings.publicUrl?.origin ?? (await shop.getUrl()));
  }
} catch (error) {
  await shop.close();
  throw error;
}
process.stdout.write(welcome(await shop.getUrl(), settings.role));
