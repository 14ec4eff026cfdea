package dispatch

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/fetch"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// The parameters of a host operation come from a worker and are untrusted. Decoding them must take bounded memory.
func TestDecodingOfOperationsIsBounded(t *testing.T) {
	const size = 3 << 20
	fetcher, err := fetch.New(fetch.Config{})
	if err != nil {
		t.Fatal(err)
	}
	p := &plugin{Plugin: &catalog.Plugin{}}
	operate := p.operator(gateway.Notifier(nil), newNetwork(fetcher, nil, []string{"*"}).begin(t.Context()))
	many := strings.TrimSuffix(strings.Repeat(`"",`, size/3), ",")
	for op, params := range map[string]string{
		abi.OpClaims:    `{"prompts":[` + many + `]}`,
		abi.OpHTTPFetch: `{"url":"https://x.example","headers":{"a":[` + many + `]}}`,
		wire.OpGitOpen:  `{"url":"https://x.example","method":"PUT","header":{` + strings.TrimSuffix(strings.Repeat(`"a":"",`, size/7), ",") + `}}`,
	} {
		var reply wire.Reply
		allocated := testenv.AllocatedBy(func() { reply = operate(t.Context(), wire.Operation{Op: op, Params: []byte(params)}) })
		if reply.Error == nil {
			t.Errorf("%s: %d bytes of parameters are accepted", op, len(params))
		}
		if allocated > 2*size {
			t.Errorf("%s: %d bytes allocated for parameters of %d that are refused", op, allocated, len(params))
		}
	}
}

// Each operation reads the user's git configuration. If reading fails, the error is logged once, until a different error occurs.
func TestWarningOfGitUserIsNotRepeated(t *testing.T) {
	var text bytes.Buffer
	var err error
	read := warnOfChange(hclog.New(&hclog.LoggerOptions{Output: &text}), func() (git.UserConfig, error) { return nil, err })
	for _, err = range []error{nil, errors.New("first"), errors.New("first"), errors.New("second"), nil, errors.New("second")} {
		read()
	}
	if got := strings.Count(text.String(), "\n"); got != 3 {
		t.Errorf("got %d lines:\n%s", got, text.String())
	}
}

// The user's ignore file may be private: a compromised worker of a plugin without repositories must not get it.
func TestGitUserNeedsRepository(t *testing.T) {
	read := 0
	p := &plugin{Plugin: &catalog.Plugin{}, dispatcher: &Dispatcher{gitUser: func() git.UserConfig {
		read++
		return git.UserConfig{{User: git.User{Excludes: []byte("*.bak")}}}
	}}}
	operate := p.operator(gateway.Notifier(nil), newNetwork(nil, nil, nil).begin(t.Context()))
	if reply := operate(t.Context(), wire.Operation{Op: wire.OpGitUser}); reply.Error == nil || reply.Error.Code != abi.HostDenied || read != 0 {
		t.Errorf("got %+v", reply)
	}
	p.Grant.Git = []config.Git{{Repo: "/r", Access: "r"}}
	if reply := operate(t.Context(), wire.Operation{Op: wire.OpGitUser}); reply.Error != nil || read != 1 {
		t.Errorf("got %+v", reply)
	}
}
