"""A producer of the real nsj-queue-lib: reads {"topic", "payload", "publish", "delay"} from lines, says "ok" or the error."""

import datetime
import json
import sys

from nsj_sql_utils_lib.dbconnection import DBConnection
from nsj_queue_lib.queue_client import QueueClient
from nsj_queue_lib.settings import DB_BASE, DB_DRIVER, DB_HOST, DB_PASS, DB_PORT, DB_USER, QUEUE_TABLE

with DBConnection(DB_DRIVER, DB_HOST, DB_PORT, DB_BASE, DB_USER, DB_PASS) as connection:
    client = QueueClient(connection.conn, QUEUE_TABLE)
    for line in sys.stdin:
        wanted = json.loads(line)
        due = None
        if wanted.get("delay"):
            due = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=wanted["delay"])
        insert = client.insert_task_pub_sub if wanted.get("publish") else client.insert_task
        try:
            insert("shop", "mail", wanted["topic"], "key", wanted["payload"], 1, "group", due)
            print("ok", flush=True)
        except Exception as error:
            print(f"error {error!r}", flush=True)
