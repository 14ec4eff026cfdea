//go:build !wasip1

package sdktest_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/sdktest"
)

// newLocker returns a host with a plugin whose only tool locks a name, and a function that calls the tool. The function returns the code of
// the host's error; empty on success.
func newLocker(t *testing.T) (host *sdktest.Host, lock func(name string) (code string)) {
	t.Helper()
	p := sdk.New()
	sdk.HandleTool(p, "greet", func(_ context.Context, who person) (*sdk.ToolResult, error) {
		err := sdk.Lock(who.Name)
		var refused *sdk.HostError
		if errors.As(err, &refused) {
			return sdk.Text(refused.Code), nil
		}
		return sdk.Text(""), err
	})
	host = sdktest.New(t, p, write(t, "[[tools]]\nname = 'greet'\n"))
	return host, func(name string) string {
		t.Helper()
		arguments, err := json.Marshal(person{name})
		if err != nil {
			t.Fatal(err)
		}
		result, err := host.CallTool("greet", string(arguments))
		if err != nil || result.IsError {
			t.Fatalf("got %+v, %v", result, err)
		}
		return result.Text()
	}
}

func TestLock(t *testing.T) {
	host, lock := newLocker(t)
	longest := strings.Repeat("n", 256)
	for _, test := range []struct{ name, code string }{
		{"one", ""}, {"", abi.HostInvalid}, {longest, ""}, {longest + "n", abi.HostInvalid}, {"one", ""},
	} {
		if got := lock(test.name); got != test.code {
			t.Errorf("%.20q, %d bytes: got %q, want %q", test.name, len(test.name), got, test.code)
		}
	}
	if diff := cmp.Diff([]string{"one", longest, "one"}, host.Locks()); diff != "" {
		t.Errorf("kept (-want +got)\n%s", diff)
	}
	host.Handle(abi.OpLock, func(params json.RawMessage) (any, error) {
		if string(params) != `{"name":"two"}` {
			t.Errorf("got %s", params)
		}
		return nil, &abi.HostError{Code: abi.HostUnavailable}
	})
	if got := lock("two"); got != abi.HostUnavailable {
		t.Errorf("the answer of an operation that the test defines: got %q", got)
	}
	if got := len(host.Locks()); got != 3 {
		t.Errorf("%d locks are kept, want 3", got)
	}
}

func TestLockFolder(t *testing.T) {
	there := t.TempDir()
	p := sdk.New()
	sdk.HandleTool(p, "greet", func(_ context.Context, who person) (*sdk.ToolResult, error) {
		err := sdk.LockFolder("one", who.Name)
		var refused *sdk.HostError
		if errors.As(err, &refused) {
			return sdk.Text(refused.Code), nil
		}
		return sdk.Text(""), err
	})
	host := sdktest.New(t, p, write(t, "[[tools]]\nname = 'greet'\n"))
	for _, test := range []struct{ name, folder, code string }{
		{"a directory", there, ""},
		{"none: the name alone", "", ""},
		{"a path that is not absolute", "x", abi.HostInvalid},
		{"a directory that does not exist", filepath.Join(there, "none"), abi.HostFailed},
	} {
		arguments, err := json.Marshal(person{test.folder})
		if err != nil {
			t.Fatal(err)
		}
		result, err := host.CallTool("greet", string(arguments))
		if err != nil || result.IsError || result.Text() != test.code {
			t.Errorf("%s: got %+v, %v", test.name, result, err)
		}
	}
	if diff := cmp.Diff([]string{"one", "one"}, host.Locks()); diff != "" {
		t.Errorf("names (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{there}, host.LockedFolders()); diff != "" {
		t.Errorf("folders (-want +got)\n%s", diff)
	}
}
