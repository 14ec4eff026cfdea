/** The functions of the host. */

@external("bulkhead", "input")
declare function host_input(destination: usize, length: i32): void;
@external("bulkhead", "output")
declare function host_output(source: usize, length: i32): void;
@external("bulkhead", "host_call")
declare function host_call(source: usize, length: i32): i32;
@external("bulkhead", "host_result")
declare function host_result(destination: usize, length: i32): void;
@external("bulkhead", "log")
declare function host_log(level: i32, source: usize, length: i32): void;

export function readInput(length: i32): ArrayBuffer {
  const bytes = new ArrayBuffer(length);
  host_input(changetype<usize>(bytes), length);
  return bytes;
}

export function writeOutput(bytes: ArrayBuffer): void {
  host_output(changetype<usize>(bytes), bytes.byteLength);
}

export function callHost(request: ArrayBuffer): ArrayBuffer {
  const bytes = new ArrayBuffer(host_call(changetype<usize>(request), request.byteLength));
  host_result(changetype<usize>(bytes), bytes.byteLength);
  return bytes;
}

export function writeLog(level: i32, line: string): void {
  const bytes = String.UTF8.encode(line);
  host_log(level, changetype<usize>(bytes), bytes.byteLength);
}
