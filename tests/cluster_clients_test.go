//go:build unix

package tests

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// retryable are the errors that a client may get while servers are replaced: statuses of answers, and what libraries print.
var retryable = map[string]*regexp.Regexp{
	"404: session ended, or project elsewhere": regexp.MustCompile(`^404$`),
	"502: connection lost behind the balancer": regexp.MustCompile(`^502$`),
	"503: no server, or it shuts down":         regexp.MustCompile(`^503$|"code":-32000|"error":\s*-32000`),
	"no answer within 10 s":                    regexp.MustCompile(`no end of|TimeoutError`),
	"connection lost":                          regexp.MustCompile(`(?i)EOF|connection (reset|refused|closed|lost)|fetch failed|terminated|ReadError|ConnectError|RemoteProtocolError|http2: `),
}

// refused begins a problem that is not retryable, whatever it contains.
const refused = "refused: "

// kindOf returns the kind of an error; empty if it is not retryable.
func kindOf(problem string) string {
	for _, kind := range slices.Sorted(maps.Keys(retryable)) {
		if retryable[kind].MatchString(problem) && !strings.HasPrefix(problem, refused) {
			return kind
		}
	}
	return ""
}

// clusterClient is a client of an endpoint, which makes one call after the other.
type clusterClient struct {
	name, endpoint string
	send           func(tool, arguments string) (problem string) // empty: a result
	load           *clusterLoad
	history        history
	answered       time.Time // when it got the last result, or began; under load.mu
}

// clusterLoad is what all clients did.
type clusterLoad struct {
	t       *testing.T
	clients []*clusterClient
	events  map[string][]time.Duration // the longest time that a client had no result, for each event

	mu           sync.Mutex
	calls        int
	writes       int
	acknowledged int                      // writes
	errors       map[string]int           // by kind and client
	gaps         map[string]time.Duration // the longest time that a client of an endpoint had no result, since the event began
}

// call is a caller. After an error it pauses, as clients that retry do.
func (c *clusterClient) call(tool, arguments string) (ok bool, problem string) {
	pause := 20 * time.Millisecond
	defer func() { time.Sleep(pause) }()
	problem = c.send(tool, arguments)
	l := c.load
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls++
	write := tool == "edit_file"
	if write {
		l.writes++
	}
	if problem == "" {
		if write {
			l.acknowledged++
		}
		l.gaps[c.endpoint] = max(l.gaps[c.endpoint], time.Since(c.answered))
		c.answered = time.Now()
		return true, ""
	}
	pause = 100 * time.Millisecond
	kind := kindOf(problem)
	if kind == "" {
		return false, c.name + ": " + problem
	}
	l.errors[kind+", "+c.name]++
	return false, ""
}

// run makes calls until stop is closed.
func (c *clusterClient) run(stop chan struct{}) {
	if c.endpoint != "/mcp" {
		c.history.run(c.load.t, c.call, stop)
		return
	}
	for {
		select {
		case <-stop:
			return
		default:
		}
		if _, problem := c.call("get_current_time", `{"timezone":"UTC"}`); problem != "" {
			c.load.t.Errorf("an error that is not retryable: %s", problem)
			return
		}
	}
}

// measure has something happen, and waits until each client of the endpoint has a result again.
func (l *clusterLoad) measure(what, endpoint string, act func()) {
	l.t.Helper()
	l.mu.Lock()
	l.gaps[endpoint] = 0
	l.mu.Unlock()
	act()
	l.await(endpoint, time.Now())
	l.mu.Lock()
	defer l.mu.Unlock()
	what = fmt.Sprintf("%-10s %s", endpoint, what)
	l.events[what] = append(l.events[what], l.gaps[endpoint])
}

// await returns when each client of the endpoint has got a result after a time, or the test has failed.
func (l *clusterLoad) await(endpoint string, after time.Time) {
	l.t.Helper()
	for _, c := range l.clients {
		waitFor(l.t, "a result of "+c.name+" from "+endpoint, func() bool {
			l.mu.Lock()
			defer l.mu.Unlock()
			return l.t.Failed() || c.endpoint != endpoint || c.answered.After(after)
		})
	}
}

// report prints what the clients got.
func (l *clusterLoad) report(took time.Duration) {
	l.t.Logf("%.0f s, %d clients, %d calls, %d of them writes, %d writes acknowledged", took.Seconds(), len(l.clients), l.calls, l.writes, l.acknowledged)
	for _, kind := range slices.Sorted(maps.Keys(l.errors)) {
		l.t.Logf("%5d retryable errors: %s", l.errors[kind], kind)
	}
	for _, what := range slices.Sorted(maps.Keys(l.events)) {
		gaps := l.events[what]
		slices.Sort(gaps)
		l.t.Logf("%-55s %3d times, a client had no result for at most %4.1f s, median %4.1f s", what, len(gaps), gaps[len(gaps)-1].Seconds(), gaps[len(gaps)/2].Seconds())
	}
}

// directCall returns what makes calls of 2026-07-28 without a library.
func directCall(t *testing.T, client *http.Client, url string) func(tool, arguments string) string {
	return func(tool, arguments string) string {
		status, body, err := answerOf(client, callRequest(t, url, tool, arguments, "Bearer "+podToken))
		return problemOf(status, body, err)
	}
}

// problemOf returns the problem with an answer; empty if it is a result.
func problemOf(status int, body string, err error) string {
	switch {
	case err != nil:
		return err.Error()
	case isResult(status, body):
		return ""
	case slices.Contains([]int{http.StatusNotFound, http.StatusBadGateway, http.StatusServiceUnavailable}, status):
		return strconv.Itoa(status)
	case strings.Contains(body, `"code":-32000`):
		return body
	case status == http.StatusOK && !strings.Contains(body, `"jsonrpc"`):
		return "connection lost within the answer"
	}
	return fmt.Sprintf("%s%d %s", refused, status, body)
}

// askCall returns what calls a tool that asks, and answers the question with a call that the balancer may send to another server.
func askCall(t *testing.T, client *http.Client, url string) func(tool, arguments string) string {
	return func(string, string) string {
		more := ""
		for range 2 {
			r := callRequest(t, url, "ask_invite", "{}", "Bearer "+podToken)
			message := fmt.Sprintf(inviteMessage, more)
			r.Body, r.ContentLength, r.GetBody = io.NopCloser(strings.NewReader(message)), int64(len(message)), nil
			status, body, err := answerOf(client, r)
			if problem := problemOf(status, body, err); problem != "" || strings.Contains(body, invited) {
				return problem
			}
			var asked struct {
				Result struct{ RequestState string }
			}
			if err := json.Unmarshal([]byte(body), &asked); err != nil || asked.Result.RequestState == "" || more != "" {
				return refused + "no question, or a second one: " + body
			}
			more = guest(asked.Result.RequestState)
		}
		return refused + "no result"
	}
}

// libraryCall starts a client library, and returns what makes calls with it.
func libraryCall(t *testing.T, l library, version, url string) func(tool, arguments string) string {
	t.Helper()
	certified := httptest.NewTLSServer(nil) // whose certificate the proxy has
	certified.Close()
	roots := filepath.Join(t.TempDir(), "roots.pem")
	putFile(t, roots, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certified.Certificate().Raw})))
	target, err := json.Marshal(scriptTarget{Version: version, URL: url, Headers: map[string]string{"Authorization": "Bearer " + podToken}, Bare: true})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(clientProgram(t, l.tool, l.name), clientScript(t, l), string(target))
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "NO_PROXY=127.0.0.1", "NODE_EXTRA_CA_CERTS="+roots, "SSL_CERT_FILE="+roots)
	s := startServer(t, cmd)
	return func(tool, arguments string) string {
		if _, err := fmt.Fprintf(s.stdin, `{"tool":%q,"arguments":%s}`+"\n", tool, arguments); err != nil {
			return refused + "the client has ended: " + err.Error()
		}
		text, ok := <-s.lines
		if !ok {
			return refused + "the client has ended"
		}
		var line struct {
			Got struct {
				Error   any
				Content []struct{ Text string }
				IsError bool
				Status  int // of the last answer to a message; 0: there was none
			}
		}
		switch err := json.Unmarshal([]byte(text), &line); {
		case err != nil:
			return refused + err.Error()
		case line.Got.Error != nil && line.Got.Status < 300:
			return text
		case line.Got.Error != nil:
			return problemOf(line.Got.Status, text, nil)
		case line.Got.IsError || len(line.Got.Content) == 0:
			return refused + text
		}
		return ""
	}
}
