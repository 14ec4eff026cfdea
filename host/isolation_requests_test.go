package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/bearer"
)

// isolation is a server whose principals have random rights.
type isolation struct {
	*team
	rights map[string]right
	log    string
	ids    map[string]string // IDs of principals

	mu      sync.Mutex
	last    int
	cursors []string
	states  map[string]string // states of questions, by "user project tool"
}

var isolationUsers = []string{"u0", "u1", "u2", "u3", "u4"}

func serveIsolated(t *testing.T, r *rand.Rand) *isolation {
	w := hosttest.New(t, hosttest.Files{"one/x": "", "two/x": ""})
	s := &isolation{team: &team{World: w, tokens: map[string]string{}}, rights: map[string]right{}, log: filepath.Join(w.Dir, "audit.jsonl"), ids: map[string]string{}, states: map[string]string{}}
	config := fmt.Sprintf("[http]\ntokens = true\n[audit]\nfile = %q\n", s.log)
	for _, plugin := range isolatedPlugins() {
		w.Write(t, isolatedPlugin(plugin))
		config += fmt.Sprintf("[[plugins]]\npath = '../plugins/%s'\n", plugin)
	}
	config += fmt.Sprintf("[[projects]]\nname = 'one'\npath = '%[1]s/one'\n[[projects]]\nname = 'two'\npath = '%[1]s/two'\n", w.Dir)
	file := bearer.In(filepath.Join(w.Dir, "state", "bulkhead"))
	for _, user := range isolationUsers {
		s.rights[user], s.tokens[user] = randomRight(r), makeNamed(t, file, user)
	}
	s.rights["u4"] = s.rights["u3"] // of the same table
	for _, user := range isolationUsers[:3] {
		config += s.rights[user].table(user, user)
	}
	config += s.rights["u3"].table("shared", "u3", "u4") + right{}.table("shadowed", isolationUsers...) // the first table that matches decides
	named, err := file.Read()
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range named {
		s.ids[n.Name] = "token:" + n.ID
	}
	w.Write(t, hosttest.Files{"work/bulkhead.toml": config})
	s.host = w.Open(t, w.Options())
	url, end := serveHTTP(t, s.host, host.HTTPOptions{Address: "127.0.0.1:0"})
	s.url, s.end = url, sync.OnceValue(end)
	t.Cleanup(func() { _ = s.end() })
	return s
}

// request is one of a principal.
type isolatedRequest struct {
	user, project   string
	verb            string // of HTTP; empty: POST
	session, resume string // headers of the legacy era; a modern request has no session
	method, name    string
	params          string // without _meta
	message         string // instead of method and params
	contains        string // what the answer may contain of the request, beside name
}

const isolatedMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}}}`

// send sends a request. The id begins with the user.
func (s *isolation) open(t *testing.T, q isolatedRequest) *http.Response {
	t.Helper()
	s.mu.Lock()
	s.last++
	id := fmt.Sprintf("%s-%d", q.user, s.last)
	s.mu.Unlock()
	verb, message := q.verb, q.message
	if verb == "" {
		verb = http.MethodPost
	}
	if message == "" && verb == http.MethodPost {
		params := q.params
		if q.session == "" && q.method != "initialize" {
			params = strings.TrimPrefix(params+","+isolatedMeta, ",")
		}
		message = fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":%q,"params":{%s}}`, id, q.method, params)
	}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, verb, s.endpoint(q.project), strings.NewReader(message))
	if err != nil {
		t.Fatal(err)
	}
	header := func(name, value string) {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	header("Authorization", "Bearer "+s.tokens[q.user])
	header("Accept", "application/json, text/event-stream")
	if verb == http.MethodPost {
		header("Content-Type", "application/json")
	}
	header("Mcp-Session-Id", q.session)
	header("Last-Event-Id", q.resume)
	if q.session == "" && q.method != "initialize" {
		header("MCP-Protocol-Version", "2026-07-28")
		header("Mcp-Method", q.method)
		header("Mcp-Name", q.name)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// send sends a request, reads the answer, and checks that it tells the principal nothing of what it may not see.
func (s *isolation) send(t *testing.T, q isolatedRequest) (status int, body string) {
	t.Helper()
	answer := s.open(t, q)
	defer answer.Body.Close()
	if q.verb == http.MethodGet && answer.StatusCode == http.StatusOK {
		return answer.StatusCode, "a stream" // which may not end
	}
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	s.check(t, q, fmt.Sprint(answer.Header, " ", string(data)))
	return answer.StatusCode, testenv.LastMessage(answer, string(data))
}

var (
	itemPattern = regexp.MustCompile(`p\d(_[a-z]+|://[a-z0-9]+)`)
	userPattern = regexp.MustCompile(`"(u\d)-\d+`)

	// sealedPattern matches the state of a question. It is encrypted, so that its characters are random.
	sealedPattern = regexp.MustCompile(`"requestState":"[^"]*"`)
)

// check checks that an answer contains nothing that its principal may not see.
func (s *isolation) check(t *testing.T, q isolatedRequest, answer string) {
	t.Helper()
	r := s.rights[q.user]
	for _, name := range itemPattern.FindAllString(sealedPattern.ReplaceAllString(answer, ""), -1) {
		if !strings.Contains(q.name+" "+q.contains, name) && !(r.admits(q.project) && r.sees(name)) {
			t.Errorf("%s at %q: %s %s: the answer has %s: %.500s", q.user, q.project, q.method, q.name, name, answer)
			return
		}
	}
	for _, found := range userPattern.FindAllStringSubmatch(answer, -1) {
		if found[1] != q.user {
			t.Errorf("%s at %q: %s: an answer to %s: %.500s", q.user, q.project, q.method, found[1], answer)
		}
	}
}

// TestPrincipalsAreIsolated gives principals of one server random rights, and has them send random requests at once: lists with cursors of
// others, calls, prompts, resources, completion, answers to questions of others, sessions and streams of others, and
// subscriptions. A model of the policy decides what each may see; nothing else reaches it, and the audit log names the principal of each request.
func TestPrincipalsAreIsolated(t *testing.T) {
	for seed := range testenv.Count(1, 3, 30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := serveIsolated(t, rand.New(rand.NewPCG(uint64(seed), 4)))
			ended := s.subscribe(t)
			var wait sync.WaitGroup
			for i := range 3 {
				r := rand.New(rand.NewPCG(uint64(seed), uint64(i)))
				wait.Go(func() {
					for range testenv.Count(60, 120, 300) {
						s.try(t, r, isolationUsers[r.IntN(len(isolationUsers))], []string{"", "one", "two", "three"}[r.IntN(4)])
					}
				})
			}
			wait.Wait()
			_ = s.end()
			ended()
			s.checkLog(t)
		})
	}
}

// subscribe opens a stream of changes for each principal in each project. The function ended checks what they got.
func (s *isolation) subscribe(t *testing.T) (ended func()) {
	var readers sync.WaitGroup
	var uris []string
	for _, plugin := range isolatedPlugins() {
		_, _, notes := itemsOf(plugin)
		uris = append(uris, notes...)
	}
	all, _ := json.Marshal(uris)
	var changes sync.Map
	for _, user := range isolationUsers {
		for _, project := range []string{"", "one", "two"} {
			q := isolatedRequest{user: user, project: project, method: "subscriptions/listen",
				params: fmt.Sprintf(`"notifications":{"resourcesListChanged":true,"toolsListChanged":true,"promptsListChanged":true,"resourceSubscriptions":%s}`, all)}
			answer := s.open(t, q)
			readers.Go(func() {
				defer answer.Body.Close()
				data, _ := io.ReadAll(answer.Body) // ends with the server
				s.check(t, q, string(data))
				if strings.Contains(string(data), "notifications/resources/updated") {
					changes.Store(user, true)
				}
			})
		}
	}
	return func() {
		readers.Wait()
		for user, r := range s.rights {
			if _, changed := changes.Load(user); !changed && len(r.only(uris)) == len(uris) {
				t.Errorf("%s was told of no change", user)
			}
		}
	}
}

// try sends random requests.
func (s *isolation) try(t *testing.T, r *rand.Rand, user, project string) {
	q := isolatedRequest{user: user, project: project}
	if !s.rights[user].admits(project) || project == "three" {
		q.method, q.name, q.params = "tools/call", "p0_reads", `"name":"p0_reads","arguments":{}`
		if status, body := s.send(t, q); status != http.StatusNotFound && (status != http.StatusForbidden || project != "") {
			t.Errorf("%s at %q: got %d %s", user, project, status, body)
		}
		return
	}
	plugins := isolatedPlugins()
	tools, prompts, notes := itemsOf(plugins[r.IntN(generalPlugins)])
	pick := func(items []string) string { return items[r.IntN(len(items))] }
	switch r.IntN(8) {
	case 0:
		s.list(t, r, q)
	case 1, 2:
		s.use(t, q, "tools/call", pick(tools), `"name":%q,"arguments":{}`)
	case 3:
		s.use(t, q, "prompts/get", pick(prompts), `"name":%q`)
	case 4:
		s.use(t, q, "resources/read", pick(notes), `"uri":%q`)
	case 5:
		s.use(t, q, "completion/complete", pick(prompts), `"ref":{"type":"ref/prompt","name":%q},"argument":{"name":"a","value":""}`)
	case 6:
		tools, _, _ = itemsOf(askingPlugin)
		s.answer(t, r, q, pick(tools))
	case 7:
		s.session(t, r, q)
	}
}

// use requests an item. One that is withheld must look like one that does not exist.
func (s *isolation) use(t *testing.T, q isolatedRequest, method, name, params string) {
	q.method, q.name, q.params, q.contains = method, name, fmt.Sprintf(params, name), name
	if method == "completion/complete" {
		q.name = "" // it has no header
	}
	if s.rights[q.user].has(name) { // whatever the method, the plugin answers with all that it has
		tools, prompts, notes := itemsOf(name[:2])
		q.contains = fmt.Sprint(tools, prompts, notes, name[:2]+"_secret")
	}
	status, body := s.send(t, q)
	if s.rights[q.user].has(name) {
		if status != http.StatusOK || !strings.Contains(body, "_secret") {
			t.Errorf("%s at %q: %s %s: got %d %s", q.user, q.project, method, name, status, body)
		}
		return
	}
	absent := strings.Replace(name, "p", "q", 1)
	q.params = fmt.Sprintf(params, absent)
	if q.name != "" {
		q.name = absent
	}
	other, want := s.send(t, q)
	withoutID := func(body string) string { return regexp.MustCompile(`"id":"[^"]*"`).ReplaceAllString(body, "") }
	if got := withoutID(strings.ReplaceAll(body, name, absent)); status != other || got != withoutID(want) {
		t.Errorf("%s at %q: %s %s: got %d %s; of an absent one %d %s", q.user, q.project, method, name, status, body, other, want)
	}
}

// list compares complete lists with the model, and uses cursors that others got.
func (s *isolation) list(t *testing.T, r *rand.Rand, q isolatedRequest) {
	kinds := []struct{ method, member, key string }{{"tools/list", "tools", "name"}, {"prompts/list", "prompts", "name"}, {"resources/list", "resources", "uri"}}
	kind := kinds[r.IntN(len(kinds))]
	q.method = kind.method
	var want, got []string
	for _, plugin := range isolatedPlugins() {
		tools, prompts, notes := itemsOf(plugin)
		want = append(want, map[string][]string{"tools": tools, "prompts": prompts, "resources": notes}[kind.member]...)
	}
	for page := 0; ; page++ {
		_, body := s.send(t, q)
		got = append(got, names(t, body, kind.member, kind.key)...)
		var answer struct{ Result struct{ NextCursor string } }
		if err := json.Unmarshal([]byte(body), &answer); err != nil {
			t.Error(err)
			return
		}
		if answer.Result.NextCursor == "" {
			break
		}
		s.mu.Lock()
		s.cursors = append(s.cursors, answer.Result.NextCursor)
		s.mu.Unlock()
		q.params = fmt.Sprintf(`"cursor":%q`, answer.Result.NextCursor)
	}
	got = slices.DeleteFunc(got, func(name string) bool {
		return strings.HasPrefix(name, "p0://") && name != "p0://x" && name != "p0://y"
	})
	slices.Sort(got)
	if !slices.Equal(got, s.rights[q.user].only(want)) {
		t.Errorf("%s at %q: %s: got %v, want %v", q.user, q.project, q.method, got, s.rights[q.user].only(want))
	}
	s.mu.Lock()
	cursors := slices.Clone(s.cursors)
	s.mu.Unlock()
	if len(cursors) > 0 {
		q.params = fmt.Sprintf(`"cursor":%q`, cursors[r.IntN(len(cursors))])
		s.send(t, q)
	}
}
