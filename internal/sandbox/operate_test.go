//go:build unix

package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// repository writes a repository with the branch main, one commit and the file f.
func repository(t testing.TB, dir string) {
	t.Helper()
	write := func(name, content string) {
		path := filepath.Join(dir, ".git", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	blob := looseObject(t, write, "blob", "content\n")
	tree := looseObject(t, write, "tree", "100644 f\x00"+string(blob))
	commit := looseObject(t, write, "commit", "tree "+hexOf(tree)+"\nauthor A <a@example.com> 1700000000 +0000\ncommitter A <a@example.com> 1700000000 +0000\n\nadd the file\n")
	write("HEAD", "ref: refs/heads/main\n")
	write("refs/heads/main", hexOf(commit)+"\n")
}

// notes records the notifications of a call.
type notes struct {
	methods []string
	err     error
}

func (n *notes) Notify(method string, params json.RawMessage) error {
	n.methods = append(n.methods, method+" "+string(params))
	return n.err
}

func TestOperate(t *testing.T) {
	w := newWorld(t)
	repository(t, w.path("$W/work"))
	box := w.new(t, Setup{Plugin: "p", Grant: config.Grant{Git: []config.Git{{Repo: w.path("$W/link"), Access: "r"}}}})
	for name, c := range map[string]struct{ request, want string }{
		"a branch that exists":             {`{"op":"git/branch_exists","params":{"repo":"$W/work","branch":"main"}}`, `{"result":true}`},
		"a branch that does not":           {`{"op":"git/branch_exists","params":{"repo":"$W/work","branch":"dev"}}`, `{"result":false}`},
		"a file on a branch":               {`{"op":"git/read_file","params":{"repo":"$W/work","branch":"main","path":"f"}}`, `{"result":{"found":true,"content":"Y29udGVudAo="}}`},
		"a file that is not on it":         {`{"op":"git/read_file","params":{"repo":"$W/work","branch":"main","path":"g"}}`, `{"result":{"found":false}}`},
		"no commit with a text":            {`{"op":"git/find_commit","params":{"repo":"$W/work","text":"nobody wrote this"}}`, `{"result":{"hash":""}}`},
		"a repository that is not granted": {`{"op":"git/branch_exists","params":{"repo":"$W/other","branch":"main"}}`, "denied "},
		"a notification without a client":  {`{"op":"notify","params":{"method":"notifications/progress","params":{}}}`, `{"result":null}`},
		"an operation there is not":        {`{"op":"exec","params":{}}`, `unavailable this host does not support the operation "exec": see the list of operations in docs/abi.md`},
		"an operation without a name":      {`{}`, `unavailable this host does not support the operation "": see the list of operations in docs/abi.md`},
		"a name that is far too long":      {`{"op":"` + strings.Repeat("x", 1<<20) + `"}`, `unavailable this host does not support the operation "` + strings.Repeat("x", 300) + `…"`},
		"a request that is not JSON":       {`{"op"`, "invalid the request is not an operation: "},
		"a request that is empty":          {``, "invalid the request is not an operation: "},
		"a request that is no object":      {`["git/read_file"]`, "invalid the request is not an operation: "},
		"an operation that is no text":     {`{"op":1}`, "invalid the request is not an operation: "},
		"no parameters":                    {`{"op":"git/read_file"}`, "invalid the parameters of the operation are invalid: "},
		"parameters of another type":       {`{"op":"git/branch_exists","params":{"repo":7}}`, "invalid the parameters of the operation are invalid: "},
		"parameters that are no object":    {`{"op":"notify","params":[]}`, "invalid the parameters of the operation are invalid: "},
		"parameters with an empty branch":  {`{"op":"git/branch_exists","params":{"repo":"$W/work","branch":""}}`, "invalid "},
	} {
		t.Run(name, func(t *testing.T) {
			got := box.Operate(t.Context(), []byte(w.path(c.request)))
			if !strings.HasPrefix(c.want, "{") {
				got = []byte(failure(t, got))
			}
			if got := string(got); got != c.want && (strings.HasPrefix(c.want, "{") || !strings.HasPrefix(got, c.want)) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
	t.Run("a commit with a text", func(t *testing.T) {
		var r struct{ Result abi.GitCommit }
		got := box.Operate(t.Context(), []byte(w.path(`{"op":"git/find_commit","params":{"repo":"$W/work","text":"the file"}}`)))
		if err := json.Unmarshal(got, &r); err != nil || len(r.Result.Hash) != 7 {
			t.Errorf("got %s", got)
		}
	})
	t.Run("a call that has ended", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		got := failure(t, box.Operate(ctx, []byte(w.path(`{"op":"git/branch_exists","params":{"repo":"$W/work","branch":"main"}}`))))
		if got != "failed context canceled" {
			t.Errorf("got %s", got)
		}
	})
}

// failure returns the code and the message of a failed response.
func failure(t *testing.T, response []byte) string {
	t.Helper()
	var r struct {
		Result json.RawMessage
		Error  *abi.HostError
	}
	if err := json.Unmarshal(response, &r); err != nil || r.Error == nil || r.Result != nil {
		t.Fatalf("got %s, want an error", response)
	}
	return r.Error.Code + " " + r.Error.Message
}

func TestEveryABIOperationIsImplemented(t *testing.T) {
	w := newWorld(t)
	box := w.new(t, Setup{Grant: everyKind(t, w)})
	ops := []string{
		abi.OpGitBranchExists, abi.OpGitReadFile, abi.OpGitFindCommit, abi.OpGitTopLevel, abi.OpGitCurrentBranch, abi.OpGitResolveRef,
		abi.OpGitRemoteURL, abi.OpGitIgnored, abi.OpGitStatus, abi.OpGitCommitBranch, abi.OpGitListRemote, abi.OpGitFetch,
		abi.OpGitState, abi.OpGitRefs, abi.OpGitHistory, abi.OpGitChanges, abi.OpGitObjects, abi.OpGitAbbreviate,
		abi.OpGitAdd, abi.OpGitCommit, abi.OpGitCreateBranch, abi.OpGitReset,
		abi.OpHTTPFetch, abi.OpFSMode, abi.OpFSCreateMode, abi.OpFSScan, abi.OpFSGrants, abi.OpLock, abi.OpClaims, abi.OpNotify, abi.OpHashSHA256,
	}
	for _, op := range ops {
		if got := failure(t, box.Operate(t.Context(), []byte(`{"op":"`+op+`","params":7}`))); !strings.HasPrefix(got, "invalid ") {
			t.Errorf("%s: got %s", op, got)
		}
	}
	if all := len(operations) + len(byteOperations); all != len(ops) {
		t.Errorf("there are %d operations: add the new ones to this test", all)
	}
}

func TestNotify(t *testing.T) {
	const progress, message = "notifications/progress", "notifications/message"
	for name, c := range map[string]struct {
		method   string
		messages bool
		err      error
		sent     []string
		want     string
	}{
		"to the call's client":                         {method: progress, sent: []string{progress + ` {"n":1}`}, want: `{"result":null}`},
		"nowhere as log messages nobody offered":       {method: message, want: `{"result":null}`},
		"to the client as log messages of one who did": {method: message, messages: true, sent: []string{message + ` {"n":1}`}, want: `{"result":null}`},
		"back with what is wrong with them": {method: progress, err: errors.New("progress must be a number"), sent: []string{progress + ` {"n":1}`},
			want: `{"error":{"code":"invalid","message":"progress must be a number"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			box := newWorld(t).new(t, Setup{Messages: c.messages})
			to := &notes{err: c.err}
			got := box.Operate(begin(t, to), []byte(`{"op":"notify","params":{"method":"`+c.method+`","params":{"n":1}}}`))
			if string(got) != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if diff := cmp.Diff(c.sent, to.methods); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// FuzzOperate checks that every request gets a valid response: a result, or an error with a code of the ABI.
func FuzzOperate(f *testing.F) {
	w := newWorld(f)
	repository(f, w.path("$W/work"))
	box := w.new(f, Setup{Plugin: "p", Messages: true, Grant: config.Grant{Git: []config.Git{{Repo: w.path("$W/work"), Access: "r"}}}})
	for _, seed := range []string{
		``, `{}`, `null`, `[]`, `{"op":"notify"}`, `{"op":"notify","params":{"method":"notifications/message","params":{"level":"info"}}}`,
		`{"op":"git/branch_exists","params":{"repo":"$W/work","branch":"main"}}`, `{"op":"git/branch_exists","params":{"repo":"../..","branch":"\u0000"}}`,
		`{"op":"git/read_file","params":{"repo":"$W/work","branch":"main","path":"f"}}`, `{"op":"git/read_file","params":{"repo":"$W/work/sub","branch":"..","path":"/"}}`,
		`{"op":"git/find_commit","params":{"repo":"$W/work","text":"file"}}`, "{\"op\":\"\xff\xfe\"}", "{\"op\":\"hash/sha256\",\"params\":{}}\x00x", `{"op":"git/find_commit","params":{"repo":"","text":""}}`,
		`{"op":"fs/scan","params":{"path":"$W/work","depth":3,"match":["*.[a-z]*"],"skip":["s?b"],"follow":true,"data":"sha256","max_file":9,"max":99,"after":"a/b"}}`,
	} {
		f.Add([]byte(w.path(seed)))
	}
	codes := map[string]bool{abi.HostDenied: true, abi.HostInvalid: true, abi.HostUnavailable: true, abi.HostFailed: true}
	f.Fuzz(func(t *testing.T, request []byte) {
		got := box.Operate(begin(t, &notes{}), request)
		if len(got) > 0 && got[0] == abi.ScanVersion {
			decodeScan(t, got)
			return
		}
		decoder := json.NewDecoder(bytes.NewReader(got))
		decoder.DisallowUnknownFields()
		var r abi.HostResponse
		if err := decoder.Decode(&r); err != nil || decoder.More() {
			t.Fatalf("got %s: %v", got, err)
		}
		if (r.Error == nil) == (r.Result == nil) || r.Error != nil && (!codes[r.Error.Code] || r.Error.Message == "") {
			t.Fatalf("the response is neither a result nor an error with a known code and a message: %s", got)
		}
	})
}

// begin returns the context of a call with a notifier.
func begin(t *testing.T, n Notifier) context.Context {
	return Begin(t.Context(), n, nil)
}

func TestOperationsAreRecorded(t *testing.T) {
	w := newWorld(t)
	repository(t, w.path("$W/work"))
	grant := w.grant("rw $W/work")
	grant.Git = []config.Git{{Repo: w.path("$W/work"), Access: "r"}}
	box := w.new(t, Setup{Plugin: "p", Grant: grant, Places: config.Places{State: w.path("$W/states")}})
	var got []Operation
	ctx := Begin(t.Context(), nil, func(o Operation) { got = append(got, o) })
	for _, request := range []string{
		`{"op":"git/current_branch","params":{"repo":"$W/work"}}`,
		`{"op":"git/current_branch","params":{"repo":"$W/other"}}`,
		`{"op":"fs/mode","params":{"path":"$W/work/none","folder":"$W/work"}}`,
		`{"op":"http/fetch","params":{"url":"https://me:secret@example.com/secret?key=secret"}}`,
		`{"op":"lock","params":{"name":"n"}}`,
		`{"op":"lock","params":{"name":"n","folder":"$W/work/sub"}}`,
		`{"op":"lock","params":{"name":"n","folder":"$W/other"}}`,
		`{"op":"http/fetch","params":{"":"secret"}}`,
		`{"op":"claims","params":{"prompts":["x"],"":"secret"}}`,
		`{"op":"notify","params":{"method":"notifications/progress","params":{}}}`,
	} {
		box.Operate(ctx, []byte(w.path(request)))
	}
	want := []Operation{
		{Op: abi.OpGitCurrentBranch, Target: w.path("$W/work")},
		{Op: abi.OpGitCurrentBranch, Target: w.path("$W/other"), Code: abi.HostDenied},
		{Op: abi.OpFSMode, Target: w.path("$W/work/none"), Code: abi.HostFailed},
		{Op: abi.OpHTTPFetch, Target: "https://example.com", Code: abi.HostDenied},
		{Op: abi.OpLock, Target: "n"},
		{Op: abi.OpLock, Target: w.path("$W/work/sub")},
		{Op: abi.OpLock, Target: w.path("$W/other"), Code: abi.HostDenied},
		{Op: abi.OpHTTPFetch, Code: abi.HostDenied},
		{Op: abi.OpClaims},
		{Op: abi.OpNotify, Target: "notifications/progress"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestOperationOfEndedCallIsRecordedAsFailed(t *testing.T) {
	w, box := scanBox(t)
	var got []Operation
	ctx, cancel := context.WithCancel(Begin(t.Context(), nil, func(o Operation) { got = append(got, o) }))
	cancel()
	box.Operate(ctx, scanRequest(t, abi.Scan{Path: w.path("$W/scan")}))
	if want := []Operation{{Op: abi.OpFSScan, Target: w.path("$W/scan"), Code: abi.HostFailed}}; !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestBoxWithoutHostCannotLock(t *testing.T) {
	box, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	if got := failure(t, box.Operate(t.Context(), []byte(`{"op":"lock","params":{"name":"n"}}`))); !strings.HasPrefix(got, "unavailable lock: there is no state directory") {
		t.Errorf("got %s", got)
	}
}

func TestClaimsAreBounded(t *testing.T) {
	asked := 0
	box, err := New(Config{Claimed: func(_ context.Context, names abi.Claims) (abi.Claims, error) {
		asked++
		return names, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	names := slices.Repeat([]string{"x"}, 5_000)
	if _, err := box.claims(t.Context(), abi.Claims{Prompts: names, Resources: names}); err != nil || asked != 1 {
		t.Errorf("10,000 names: got %v", err)
	}
	_, err = box.claims(t.Context(), abi.Claims{Prompts: names, Resources: append(names, "x")})
	if err == nil || hostCode(t, err) != abi.HostInvalid || asked != 1 {
		t.Errorf("10,001 names: got %v", err)
	}
}
