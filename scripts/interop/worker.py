"""A worker of the real nsj-queue-lib. What a task does stands in its payload: {"ms", "fail": attempts that fail}."""

import json
import os
import time

from nsj_queue_lib.worker_base import WorkerBase


def note(connection, task, kind):
    with connection.conn.cursor() as cursor:
        cursor.execute(
            "insert into interop_effects (task, kind, worker) values (%s, %s, 'python')", (task, kind)
        )


class Worker(WorkerBase):
    def execute(self, payload, tarefa, bd_conn, multi_db_conn=None):
        wishes = json.loads(payload)
        if "publication" in wishes:
            note(bd_conn, f"{tarefa['publication_id']} {tarefa['subscriber_id']}", "delivery")
            wishes = json.loads(wishes["publication"])
        else:
            note(bd_conn, str(tarefa["id_inicial"] or tarefa["id"]), "task")
        time.sleep(wishes.get("ms", 0) / 1000)
        if tarefa["tentativa"] <= wishes.get("fail", 0):
            raise Exception("as its payload wants it")
        return "python"

    def execute_dead(self, payload, tarefa, bd_conn, multi_db_conn=None):
        if os.environ.get("DEAD_FAILS"):
            raise Exception("dead tasks fail, too")
        note(bd_conn, str(tarefa["live_id"]), "dead")
        return "python"


Worker().run()
