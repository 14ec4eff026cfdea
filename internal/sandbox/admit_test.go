//go:build unix

package sandbox

import (
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/origin"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// everyKind is a grant that admits every operation.
func everyKind(t *testing.T, w world) config.Grant {
	t.Helper()
	o, err := origin.Parse("https://api.example.com")
	if err != nil {
		t.Fatal(err)
	}
	return config.Grant{
		Git:  []config.Git{{Repo: w.path("$W/work"), Access: "rw", Remotes: []string{"https://example.com/repo"}}},
		HTTP: []config.HTTP{{Origin: o}},
	}
}

// The host's allocations for untrusted parameters are proportional to their size, whether the operation is granted or not.
func TestParametersAreBoundedBeforeDecoding(t *testing.T) {
	w := newWorld(t)
	boxes := map[string]*Box{"granted": w.new(t, Setup{Grant: everyKind(t, w)}), "not granted": w.new(t, Setup{})}
	const size = 4 << 20
	many := func(item string) string { return strings.Repeat(item+",", size/(len(item)+1)) + item }
	for name, c := range map[string]struct{ op, params string }{
		"changes of a commit": {abi.OpGitCommitBranch, `{"changes":[` + many(`{}`) + `]}`},
		"paths":               {abi.OpGitIgnored, `{"paths":[` + many(`""`) + `]}`},
		"names of references": {abi.OpGitListRemote, `{"names":[` + many(`""`) + `]}`},
		"values of a header":  {abi.OpHTTPFetch, `{"headers":{"a":[` + many(`""`) + `]}}`},
		"names of headers":    {abi.OpHTTPFetch, `{"headers":{` + many(`"":[]`) + `}}`},
		"claims":              {abi.OpClaims, `{"prompts":[` + many(`""`) + `]}`},
		"members of a lock":   {abi.OpLock, `{` + many(`"":0`) + `}`},
		"a notification":      {abi.OpNotify, `{"method":"notifications/message","params":{"data":[` + many(`{}`) + `]}}`},
		"no operation":        {"none", `{"a":[` + many(`{}`) + `]}`},
		"nesting":             {abi.OpNotify, `{"params":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}`},
		"a number":            {abi.OpLock, `{"name":` + strings.Repeat("1", size) + `}`},
	} {
		for grant, box := range boxes {
			t.Run(name+", "+grant, func(t *testing.T) {
				request := []byte(`{"op":"` + c.op + `","params":` + c.params + `}`)
				var got []byte
				allocated := testenv.AllocatedBy(func() { got = box.Operate(begin(t, &notes{}), request) })
				if why := failure(t, got); len(why) > 1000 {
					t.Errorf("an error of %d bytes", len(why))
				}
				if most := uint64(3*len(request) + 512<<10); allocated > most {
					t.Errorf("%d bytes allocated for a request of %d, want at most %d", allocated, len(request), most)
				}
			})
		}
	}
}

// The limits of admit are higher than the limits of the operations, so the largest requests are admitted.
func TestAdmitAcceptsLargestRequests(t *testing.T) {
	w := newWorld(t)
	box := w.new(t, Setup{Grant: everyKind(t, w)})
	many := func(n int, item string) string { return strings.Repeat(item+",", n-1) + item }
	for name, r := range map[string]abi.HostRequest{
		"a commit":        {Op: abi.OpGitCommitBranch, Params: []byte(`{"repo":"","branch":"","base":"","message":"","changes":[` + many(1000, `{"path":"","content":"","mode":"","deleted":false}`) + `]}`)},
		"paths":           {Op: abi.OpGitIgnored, Params: []byte(`{"repo":"","paths":[` + many(1000, `""`) + `]}`)},
		"references":      {Op: abi.OpGitListRemote, Params: []byte(`{"url":"","names":[` + many(100, `""`) + `]}`)},
		"headers":         {Op: abi.OpHTTPFetch, Params: []byte(`{"url":"","method":"","body":"","headers":{` + many(100, `"a":[""]`) + `}}`)},
		"prompts":         {Op: abi.OpClaims, Params: []byte(`{"prompts":[` + many(abi.MaxClaims, `""`) + `],"resources":[]}`)},
		"a file's mode":   {Op: abi.OpFSMode, Params: []byte(`{"path":"","mode":0}`)},
		"a log message":   {Op: abi.OpNotify, Params: []byte(`{"method":"","params":{"data":[` + many(50_000, `0`) + `]}}`)},
		"an empty object": {Op: abi.OpLock, Params: []byte(`{}`)},
	} {
		if err := box.admit(r); err != nil {
			t.Errorf("admit refuses %s: %v", name, err)
		}
	}
}

// An operation without lists has at most 100 JSON values in its parameters.
func TestParametersHave100Values(t *testing.T) {
	box := newWorld(t).new(t, Setup{})
	for members, want := range map[int]bool{99: true, 100: false} { // the object is a value, too
		params := `{"name":"n"` + strings.Repeat(`,"more":0`, members-1) + `}`
		if err := box.admit(abi.HostRequest{Op: abi.OpLock, Params: []byte(params)}); (err == nil) != want {
			t.Errorf("%d members: got %v", members, err)
		}
	}
}

func TestOperationsWithoutGrantAreDenied(t *testing.T) {
	box := newWorld(t).new(t, Setup{})
	for op, want := range map[string]string{
		abi.OpGitStatus:       "granted no repository",
		abi.OpGitCommitBranch: "granted no repository",
		abi.OpGitCommit:       "granted no repository",
		abi.OpGitCreateBranch: "granted no repository",
		abi.OpGitReset:        "granted no repository",
		abi.OpGitFetch:        "granted no remote",
		abi.OpHTTPFetch:       "granted no web server",
	} {
		got := failure(t, box.Operate(t.Context(), []byte(`{"op":"`+op+`","params":7}`)))
		if !strings.HasPrefix(got, abi.HostDenied+" "+op+": ") || !strings.Contains(got, want) {
			t.Errorf("%s: got %s", op, got)
		}
	}
}
