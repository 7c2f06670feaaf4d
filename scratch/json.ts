import { TaskHandler, type QueueClient, type ReceivedPayload, type TaskContext } from 'nestjs-tarefa';
interface JsonArray extends Array<JsonValue> {}
type JsonObject = { [k in string]?: JsonValue };
type JsonValue = string | number | boolean | JsonObject | JsonArray | null;
type InputJsonObject = { readonly [Key in string]?: InputJsonValue | null };
interface InputJsonArray extends ReadonlyArray<InputJsonValue | null> {}
type InputJsonValue = string | number | boolean | InputJsonObject | InputJsonArray | { toJSON(): unknown };
type TfObject = { [Key in string]: TfValue } & { [Key in string]?: TfValue | undefined };
type TfArray = TfValue[] | readonly TfValue[];
type TfValue = string | number | boolean | null | TfObject | TfArray;
interface Product { id: number; attributes: JsonValue }
interface Product2 { id: number; attributes: InputJsonValue }
interface Product3 { id: number; attributes: TfValue }
interface Tree { at: Date; children: Tree[] }
declare const mark: unique symbol;
declare module 'nestjs-tarefa' {
  interface QueueTopics {
    p1: Product; p2: Product2; p3: Product3; p4: TfValue; p5: JsonValue; p6: InputJsonValue; tree: Tree;
    sym: { a: number; [mark]: string };
  }
}
declare const queue: QueueClient;
declare const p1: Product; declare const p2: Product2; declare const p3: Product3; declare const p4: TfValue; declare const p5: JsonValue; declare const p6: InputJsonValue; declare const tree: Tree;
declare const bad: { [k: string]: any; id: bigint };
declare const bad2: { deep: { [k: string]: any; id: bigint } };
export function f() {
  void queue.insertTask({ topic: 'p1', payload: p1 });
  void queue.insertTask({ topic: 'p2', payload: p2 });
  void queue.insertTask({ topic: 'p3', payload: p3 });
  void queue.insertTask({ topic: 'p4', payload: p4 });
  void queue.insertTask({ topic: 'p5', payload: p5 });
  void queue.insertTask({ topic: 'p6', payload: p6 });
  void queue.insertTask({ topic: 'tree', payload: tree });
  void queue.insertTask({ topic: 'o', payload: p1 });
  void queue.insertTask({ topic: 'o', payload: p2 });
  void queue.insertTask({ topic: 'o', payload: p3 });
  void queue.insertTask({ topic: 'o', payload: p4 });
  void queue.insertTask({ topic: 'o', payload: p5 });
  void queue.insertTask({ topic: 'o', payload: p6 });
  void queue.insertTask({ topic: 'o', payload: tree });
  void queue.insertTasks([{ topic: 'o', payload: p1 },{ topic: 'o', payload: p2 },{ topic: 'o', payload: p3 },{ topic: 'o', payload: p4 },{ topic: 'p1', payload: p1 },{ topic: 'p2', payload: p2 },{ topic: 'p3', payload: p3 },{ topic: 'tree', payload: tree }]);
}
export function anys() {
  void queue.insertTask({ topic: 'o', payload: bad });
  void queue.insertTask({ topic: 'o', payload: bad2 });
}
export class H {
  @TaskHandler('p1') a(_p: Product, _c: TaskContext) {}
  @TaskHandler('p2') b(_p: { id: number }, _c: TaskContext) {}
  @TaskHandler('p3') c(_p: Product3, _c: TaskContext) {}
  @TaskHandler('p4') d(_p: string, _c: TaskContext) {}
  @TaskHandler('tree') e(_p: { at: string; children: { at: string }[] }, _c: TaskContext) {}
  @TaskHandler('p2') g(_p: {attributes: string}, _c: TaskContext) {}
}
export const s: ReceivedPayload<'sym'> = { a: 1 };
