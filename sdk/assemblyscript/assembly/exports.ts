/** What a module exports: re-export bulkhead_abi_1 and bulkhead_call from the file that is compiled. */

import { readInput, writeLog, writeOutput } from "./imports";
import { servedPlugin } from "./plugin";

export function bulkhead_abi_1(): void {}

export function bulkhead_call(length: i32): void {
  writeOutput(servedPlugin().dispatch(readInput(length)));
}

/** Ends a call that throws: `--use abort=bulkhead_abort`. */
@global
export function bulkhead_abort(message: string | null, file: string | null, line: u32, column: u32): void {
  const at = file === null ? "" : file + ":" + line.toString() + ":" + column.toString() + ": ";
  writeLog(5, at + (message === null ? "aborted" : message));
  unreachable();
}
