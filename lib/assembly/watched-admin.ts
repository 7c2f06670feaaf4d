import type { TableWatch } from '../maintenance/table-watch.js';
import type { TaskAdmin } from '../storage/admin.js';
import { replaced } from '../values/replaced.js';

/** What operators insert may be taken away as well as what a worker does: it is checked as that is. */
export function watchedAdmin(admin: TaskAdmin, table: Pick<TableWatch, 'checkSoon'>): TaskAdmin {
  const checked = async <T>(work: Promise<T>): Promise<T> => {
    const done = await work;
    table.checkSoon();
    return done;
  };
  return replaced<TaskAdmin>(admin, {
    retry: (id) => checked(admin.retry(id)),
    retryEdited: (id, edited) => checked(admin.retryEdited(id, edited)),
    bury: (id, message) => checked(admin.bury(id, message)),
    runBlock: (kind, selection, place) => {
      const done = admin.runBlock(kind, selection, place);
      return kind === 'retry' ? checked(done) : done;
    },
  });
}
