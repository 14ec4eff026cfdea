package host_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
)

// longRoots is an answer to a question that makes the call long.
var longRoots = `{"roots":[],"padding":"` + strings.Repeat("x", longCall) + `"}`

// answer makes a call that asks, and answers any question with its state: only the state of the same principal, project and call is valid.
func (s *isolation) answer(t *testing.T, r *rand.Rand, q isolatedRequest, tool string) {
	if !s.rights[q.user].has(tool) {
		s.use(t, q, "tools/call", tool, `"name":%q,"arguments":{}`)
		return
	}
	q.method, q.name, q.params = "tools/call", tool, fmt.Sprintf(`"name":%q,"arguments":{}`, tool)
	own := fmt.Sprint(q.user, " ", q.project, " ", tool)
	_, body := s.send(t, q)
	var asked struct {
		Result struct{ ResultType, RequestState string }
	}
	if err := json.Unmarshal([]byte(body), &asked); err != nil || asked.Result.ResultType != "input_required" {
		t.Errorf("%s: got %s", own, body)
		return
	}
	s.mu.Lock()
	s.states[own] = asked.Result.RequestState
	var keys, states []string
	for key, state := range s.states {
		keys, states = append(keys, key), append(states, state)
	}
	s.mu.Unlock()
	i := r.IntN(len(keys))
	q.params += fmt.Sprintf(`,"inputResponses":{"r":%s},"requestState":%q`, longRoots, states[i])
	status, body := s.send(t, q)
	if accepted := strings.Contains(body, askingPlugin+"_secret"); accepted != (keys[i] == own) || !accepted && !strings.Contains(body, "it is not valid for this request") {
		t.Errorf("%s: with the state of %s: got %d %s", own, keys[i], status, body)
	}
}

// session opens a session, and makes a call whose stream others try to resume and whose question they try to answer.
func (s *isolation) session(t *testing.T, r *rand.Rand, q isolatedRequest) {
	tool := askingPlugin + "_reads"
	opening := q
	opening.method, opening.params = "initialize", `"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}`
	opened := s.open(t, opening)
	_ = opened.Body.Close()
	q.session = opened.Header.Get("Mcp-Session-Id")
	if q.session == "" {
		t.Errorf("%s at %q: no session: %d", q.user, q.project, opened.StatusCode)
		return
	}
	ending := isolatedRequest{user: q.user, project: q.project, session: q.session, verb: http.MethodDelete}
	defer s.send(t, ending)
	call := q
	call.method, call.name, call.params = "tools/call", tool, fmt.Sprintf(`"name":%q,"arguments":{}`, tool)
	if !s.rights[q.user].has(tool) {
		if _, body := s.send(t, call); !strings.Contains(body, "nknown tool") {
			t.Errorf("%s at %q: got %s", q.user, q.project, body)
		}
		s.intrude(t, r, q, "1")
		return
	}
	answer := s.open(t, call)
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	var question string
	for lines.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && json.Unmarshal([]byte(data), &m) == nil && m.Method == "roots/list" {
			question = string(m.ID)
			break
		}
	}
	if question == "" {
		t.Errorf("%s at %q: no question", q.user, q.project)
		return
	}
	s.intrude(t, r, q, question)
	answered := r.IntN(2) == 0
	if answered {
		q.message = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, question, longRoots)
		if status, body := s.send(t, q); status != http.StatusAccepted {
			t.Errorf("%s at %q: an answer to %s: got %d %s", q.user, q.project, question, status, body)
		}
	} else {
		s.send(t, ending)
	}
	rest := ""
	for lines.Scan() {
		rest += lines.Text()
	}
	if s.check(t, q, rest); strings.Contains(rest, askingPlugin+"_secret") != answered {
		t.Errorf("%s at %q: the call whose question was answered by its client: %t: %s", q.user, q.project, answered, rest)
	}
}

// intrude has every other principal, and the same one at another endpoint, use a session: to list, to resume a stream, to answer a question, and
// to end the session.
func (s *isolation) intrude(t *testing.T, r *rand.Rand, owner isolatedRequest, question string) {
	for _, user := range isolationUsers {
		for _, project := range []string{"", "one", "two"} {
			if user == owner.user && project == owner.project {
				continue
			}
			q := isolatedRequest{user: user, project: project, session: owner.session, contains: owner.session}
			switch r.IntN(4) {
			case 0:
				q.method = "tools/list"
			case 1:
				q.verb, q.resume = http.MethodGet, []string{"1-0", "2-0", "0-0"}[r.IntN(3)]
			case 2:
				q.message = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, question, longRoots)
			case 3:
				q.verb = http.MethodDelete
			}
			if status, body := s.send(t, q); status != http.StatusNotFound && status != http.StatusForbidden {
				t.Errorf("%s at %q uses a session of %s at %q: %+v: got %d %s", user, project, owner.user, owner.project, q, status, body)
			}
		}
	}
}

// checkLog checks that the audit log names the principal of each request, whose id begins with it.
func (s *isolation) checkLog(t *testing.T) {
	file, err := os.Open(s.log)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	seen := map[string]bool{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var record struct{ Kind, Principal, Request string }
		if err := json.Unmarshal(lines.Bytes(), &record); err != nil {
			t.Fatal(err)
		}
		if record.Request == "" {
			continue
		}
		id, _ := strings.CutPrefix(record.Request, `"`)
		user, _, _ := strings.Cut(id, "-")
		if seen[user] = true; record.Principal != s.ids[user] {
			t.Errorf("the record of a request of %s (%s): %s", user, s.ids[user], lines.Text())
		}
	}
	for _, user := range isolationUsers {
		r := s.rights[user]
		if r.projects == nil && !seen[user] && slices.ContainsFunc([]string{"p0_reads", "p1_reads", "p2_reads"}, r.has) {
			t.Errorf("the audit log has no record of %s", user)
		}
	}
}
