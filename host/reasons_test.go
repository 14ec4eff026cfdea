package host_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/bearer"
)

// TestOnlyLocalUserGetsPathsOfServer breaks a server in several ways. A client with a token gets the code of the failure and no path of the
// server, and a client at loopback without a token, which is the local user, gets the reason.
func TestOnlyLocalUserGetsPathsOfServer(t *testing.T) {
	t.Parallel()
	for code, spoil := range map[string]func(w *hosttest.World) error{
		"sandbox": func(w *hosttest.World) error {
			return errors.Join(os.RemoveAll(w.Dir+"/work/data"), os.Symlink("data", w.Dir+"/work/data"))
		},
		"module_missing": func(w *hosttest.World) error { return os.Remove(w.Dir + "/plugins/a/it.wasm") },
		"invalid_module": func(w *hosttest.World) error {
			return os.WriteFile(w.Dir+"/plugins/a/it.wasm", []byte("\x00asm"), 0o600)
		},
		"audit": func(w *hosttest.World) error {
			if err := os.RemoveAll(w.Dir + "/log"); err != nil {
				return err
			}
			return os.WriteFile(w.Dir+"/log", nil, 0o600)
		},
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			for _, local := range []bool{false, true} {
				w := hosttest.New(t, hosttest.Plugin("a", wasmtest.Answering(hosttest.Done), "[[capabilities.fs]]\npath = '${project}'\naccess = 'r'\n"+hosttest.Reads("a_reads")))
				w.Write(t, hosttest.Files{"work/data/x": "", "work/bulkhead.toml": fmt.Sprintf("[http]\ntokens = %t\n[audit]\nfile = '%s/log/audit.jsonl'\non_failure = 'closed'\n[[plugins]]\npath = '../plugins/a'\nfs = [{ path = '${project}/data', access = 'r' }]\n", !local, w.Dir)})
				token := ""
				if !local {
					token = makeNamed(t, bearer.In(filepath.Join(w.Dir, "state", "bulkhead")), "ann")
				}
				h := w.Open(t, w.Options())
				if err := spoil(w); err != nil {
					t.Fatal(err)
				}
				url, end := serveHTTP(t, h, host.HTTPOptions{Address: "127.0.0.1:0"})
				const message = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a_reads","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
				var body string
				for range 2 { // an audit log that failed for the first call refuses the second
					_, body = send(t, url, token, message, map[string]string{"Content-Type": "application/json", "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "a_reads"})
					if !strings.Contains(body, `"code":"`+code+`"`) || strings.Contains(body, w.Dir) != local {
						t.Errorf("local: %t: %s", local, body)
					}
				}
				_ = end()
			}
		})
	}
}
