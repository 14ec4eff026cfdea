package bench

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/oauth/oauthtest"
)

// startIssuer serves the metadata and the keys of an issuer.
func startIssuer(b *testing.B) (issuer string) {
	b.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text := fmt.Sprintf(`{"issuer":%q,"jwks_uri":"%[1]s/keys"}`, issuer)
		if r.URL.Path == "/keys" {
			text = oauthtest.Published("ec", "rsa")
		}
		_, _ = w.Write([]byte(text)) // a server that has ended does not need it
	}))
	b.Cleanup(s.Close)
	issuer = s.URL
	return issuer
}

// BenchmarkToken measures what the token of a request costs: calls of an echo tool over HTTP without a token, and with one of each kind, alternately.
// The result is the ratio of the medians to that without a token. A new access token is one that the server has not verified before.
func BenchmarkToken(b *testing.B) {
	s := buildAll(b)
	const each, audience = 50, "http://127.0.0.1/mcp"
	const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello there"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	issuer, file := startIssuer(b), filepath.Join(s.dir, "token")
	run := func(args ...string) string {
		command := exec.Command(s.host, append([]string{"token", "new"}, args...)...)
		command.Env = append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(s.dir, "state"))
		out, err := command.Output()
		if err != nil {
			b.Fatalf("token new %v: %v", args, err)
		}
		return strings.TrimSpace(string(out))
	}
	run(file)
	single, err := os.ReadFile(file)
	if err != nil {
		b.Fatal(err)
	}
	same := func(token string) func(int) []string {
		return func(n int) []string { return slices.Repeat([]string{token}, n) }
	}
	signed := 0
	fresh := func(key string) func(int) []string {
		return func(n int) (all []string) {
			for range n {
				signed++
				all = append(all, oauthtest.Keys()[key].Sign(oauthtest.Claims(issuer, audience, map[string]any{"jti": signed})))
			}
			return all
		}
	}
	named, jwt := run("bench"), fmt.Sprintf("[http]\nissuers = [%q]\naudience = %q\n", issuer, audience)
	kinds := []struct {
		name, config string
		tokens       func(n int) []string // for a round of calls
	}{
		{"none", "", same("")},
		{"single", fmt.Sprintf("[http]\ntoken_file = %q\n", file), same(strings.TrimSpace(string(single)))},
		{"named", "[http]\ntokens = true\n", same(named)},
		{"known_jwt", jwt, same(fresh("ec")(1)[0])},
		{"new_jwt_es256", jwt, fresh("ec")},
		{"new_jwt_rs256", jwt, fresh("rsa")},
	}
	servers := make([]*httpServer, len(kinds))
	for i, kind := range kinds {
		config, address := filepath.Join(s.dir, kind.name+".toml"), freeAddress(b)
		write(b, config, fmt.Sprintf("%s\n[[plugins]]\npath = %q\n", kind.config, filepath.Join(s.echo, "echo")))
		servers[i] = startHTTP(b, s.dir, address, s.host, "serve", "--config", config, "--project", s.dir, "--http", address)
	}
	round := func(i int) time.Duration {
		tokens := kinds[i].tokens(each)
		began := time.Now()
		for _, token := range tokens {
			headers := modernHeaders
			if token != "" {
				headers = append(slices.Clip(headers), "Authorization", "Bearer "+token)
			}
			if answer := servers[i].ask(body, headers); !strings.Contains(answer, "hello there") {
				b.Fatalf("%s: got %s", kinds[i].name, answer)
			}
		}
		return time.Since(began)
	}
	times := make([][]time.Duration, len(kinds))
	for i := range kinds {
		round(i)
	}
	for b.Loop() {
		for i := range kinds {
			times[i] = append(times[i], round(i))
		}
	}
	median := func(i int) float64 {
		slices.Sort(times[i])
		return float64(times[i][len(times[i])/2].Nanoseconds()) / each / 1000
	}
	none := median(0)
	b.ReportMetric(none, "none-µs")
	for i := range kinds[1:] {
		b.ReportMetric(median(i+1)/none, "x-"+kinds[i+1].name)
	}
	b.ReportMetric(0, "ns/op") // hide ns/op, which would be the meaningless sum of all servers
}
