package dispatch_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
)

// panicking returns a module that prints text to standard error, or logs it as an error, and then traps.
func panicking(text string, logged bool) []byte {
	const drop, unreachable, vector = 0x1a, 0x00, 8
	if logged {
		return assembled(wasmtest.Code(wasmtest.Invoke(wasmtest.Log, 5, vector, int32(len(text))), unreachable), strings.Repeat(" ", vector)+text)
	}
	write := wasmtest.Import{Module: "wasi_snapshot_preview1", Name: "fd_write", Type: wasmtest.FourToI}
	data := string([]byte{vector, 0, 0, 0, byte(len(text)), byte(len(text) >> 8), 0, 0}) + text
	return wasmtest.Plugin(wasmtest.Code(wasmtest.Invoke(wasmtest.Extra, 2, 0, 1, 4000), drop, unreachable), data, write).Bytes()
}

// What a language prints before it traps is logged with the failure. Only a client of a plugin in development gets it, too.
func TestPanicIsReportedToAuthor(t *testing.T) {
	for name, c := range map[string]struct {
		printed string
		logged  bool
		want    string
	}{
		"Go": {printed: "a line\npanic: assignment to entry in nil map\n\ngoroutine 1 [running]:\nmain.title()\n\tmain.go:32 +0x1\n" + strings.Repeat("\tmore\n", 40),
			want: "panic: assignment to entry in nil map"},
		"Go, again":           {printed: "panic: one [recovered]\n\tpanic: two\n[signal]\ngoroutine 1 [running]:\n", want: "panic: one [recovered] panic: two [signal]"},
		"Go, after a report":  {printed: "panic: earlier\ngoroutine 7 [running]:\nfatal error: all goroutines are asleep\n", want: "fatal error: all goroutines are asleep"},
		"Rust":                {printed: "\nthread '<unnamed>' (1) panicked at src/lib.rs:27:5:\nthis is wanted\nnote: run with `RUST_BACKTRACE=1`\n", want: "thread '<unnamed>' (1) panicked at src/lib.rs:27:5: this is wanted"},
		"C":                   {printed: "starting\nAssertion failed: n > 0 (notes.c: title: 12)\n", want: "Assertion failed: n > 0 (notes.c: title: 12)"},
		"AssemblyScript":      {printed: "assembly/index.ts:7:3: the key does not exist", logged: true, want: "assembly/index.ts:7:3: the key does not exist"},
		"JavaScript":          {printed: "aborted: out of tea", logged: true, want: "aborted: out of tea"},
		"another language":    {printed: "first\nthe last line\n\n", want: "the last line"},
		"an incomplete line":  {printed: "panic: no line end", want: "panic: no line end"},
		"invisible character": {printed: "panic: \x1b[31mred\n", want: "[31mred"},
	} {
		t.Run(name, func(t *testing.T) {
			w := hosttest.New(t, hosttest.Plugin("it", panicking(c.printed, c.logged), hosttest.Reads("it_reads")))
			served := textOf(t, hosttest.Call(t, w.Open(t, w.Options()), "it_reads", ""))
			if served != "bulkhead: it_reads crashed: wasm error: unreachable" {
				t.Errorf("clients of serve get %q", served)
			}
			failed := ""
			for line := range strings.Lines(w.Log.String()) {
				if strings.Contains(line, "a call failed") && strings.Contains(line, "reason=") {
					failed = line
				}
			}
			if !strings.Contains(failed, "panic=") || !strings.Contains(failed, strings.ReplaceAll(c.want, `"`, `\"`)) {
				t.Errorf("the log has %q, want %q", failed, c.want)
			}
			o := w.Options()
			dir := filepath.Join(w.Dir, "plugins", "it")
			o.PluginsDir, o.Development = "", &host.Development{Source: dir, Built: func() (string, error) { return dir, nil }}
			answer := hosttest.Call(t, w.Open(t, o), "it_reads", "")
			if text := textOf(t, answer); !strings.HasPrefix(text, served+": ") || !strings.HasSuffix(text, c.want) {
				t.Errorf("clients of plugin dev get %q, want %q", text, c.want)
			}
			if !strings.Contains(string(answer.Result), `"panic":`) {
				t.Errorf("the result has no panic: %s", answer.Result)
			}
		})
	}
}
