package dispatch

import (
	"runtime"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/network"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/fetch"
	"github.com/bulkhead-mcp/bulkhead/internal/worker/wire"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// A worker is hostile, and the host decodes what it asks for: by streaming, or within a bound that has to do with
// what the operation may hold.
func TestDecodingOfOperationsIsBounded(t *testing.T) {
	const size = 3 << 20
	fetcher, err := fetch.New(fetch.Config{})
	if err != nil {
		t.Fatal(err)
	}
	p := &plugin{Plugin: &catalog.Plugin{}}
	ask := p.asker(gateway.Notifier(nil), network.New(network.Config{Fetch: fetcher, Remotes: []string{"*"}}).Begin(t.Context()))
	many := strings.TrimSuffix(strings.Repeat(`"",`, size/3), ",")
	for op, params := range map[string]string{
		abi.OpClaims:    `{"prompts":[` + many + `]}`,
		abi.OpHTTPFetch: `{"url":"https://x.example","headers":{"a":[` + many + `]}}`,
		wire.OpGitOpen:  `{"url":"https://x.example","method":"PUT","header":{` + strings.TrimSuffix(strings.Repeat(`"a":"",`, size/7), ",") + `}}`,
	} {
		var reply wire.Reply
		allocated := allocatedBy(func() { reply = ask(t.Context(), wire.Ask{Op: op, Params: []byte(params)}) })
		if reply.Error == nil {
			t.Errorf("%s: %d bytes of parameters are accepted", op, len(params))
		}
		if allocated > 2*size {
			t.Errorf("%s: %d bytes allocated for parameters of %d that are refused", op, allocated, len(params))
		}
	}
}

// allocatedBy returns how many bytes f allocates, including freed ones.
func allocatedBy(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
