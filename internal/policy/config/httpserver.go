package config

import (
	"fmt"
	"net"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// HTTPServer is the [http] table: how the host serves clients over HTTP, if it does so. It contains no secret.
type HTTPServer struct {
	TokenFile      string        // absolute path of the file that contains the bearer token; empty: unset
	TokenEnv       string        // name of the variable of the host's environment that contains the bearer token; empty: unset
	Tokens         bool          // whether the named tokens of the host's user are accepted
	Issuers        []string      // identifiers of the issuers whose access tokens are accepted
	Audience       string        // URL of the MCP endpoint, for which access tokens must be issued; empty without Issuers
	OtherAudiences []string      // further accepted audiences
	StateKeys      string        // absolute path of the file with the keys that encrypt the state of questions; empty: unset
	Scopes         []string      // that an access token must have
	CertFile       string        // absolute path of the file with the TLS certificates; empty: unset
	KeyFile        string        // absolute path of the file with the TLS private key; empty: unset
	Insecure       bool          // whether plaintext is allowed at addresses that are not loopback
	Hosts          []string      // accepted values of the header Host, without ports
	Origins        []string      // accepted values of the header Origin
	SessionIdle    time.Duration // time after which an unused session ends; 0: unset
	MaxConnections int           // most connections at the same time; 0: unset
	Source         string        // path of the config that contains the [http] table
	Line           int
}

// Bounds of the values in [http].
const (
	minConnections, maxConnections = 8, 65536
	maxNames                       = 64 // most items in hosts, and most items in origins
)

// Files returns the paths of the files that contain secrets.
func (h *HTTPServer) Files() []string {
	if h == nil {
		return nil
	}
	return slices.DeleteFunc([]string{h.TokenFile, h.KeyFile, h.StateKeys}, func(file string) bool { return file == "" })
}

// Equal reports whether h and other have the same values. Either may be nil.
func (h *HTTPServer) Equal(other *HTTPServer) bool {
	if h == nil || other == nil {
		return h == other
	}
	a, b := *h, *other
	a.Source, a.Line, b.Source, b.Line = "", 0, "", 0
	return reflect.DeepEqual(a, b)
}

// pathKey is a key of [http] whose value is a path, and the field for that value.
type pathKey struct {
	name string
	path *string
}

func (h *HTTPServer) pathKeys() []pathKey {
	return []pathKey{{"token_file", &h.TokenFile}, {"tls_cert", &h.CertFile}, {"tls_key", &h.KeyFile}, {"state_keys", &h.StateKeys}}
}

func (c *Config) readHTTPServer(t *tomlfile.Table) {
	if !t.Present() {
		return
	}
	h := &HTTPServer{
		TokenFile: t.String("token_file"), TokenEnv: t.String("token_env"), Tokens: t.Bool("tokens", false),
		StateKeys: t.String("state_keys"), CertFile: t.String("tls_cert"), KeyFile: t.String("tls_key"), Insecure: t.Bool("insecure_http", false),
		Hosts:          readNames(t, "hosts", checkHost, `write a name or an address without port: "mcp.example.com"`),
		Origins:        readNames(t, "origins", checkWebOrigin, `write scheme, host and, if need be, port: "https://app.example.com"`),
		SessionIdle:    manifest.ReadDuration(t, "session_idle"),
		MaxConnections: int(manifest.ReadCount(t, "max_connections", minConnections, maxConnections)),
		Source:         t.File(), Line: t.Line(),
	}
	h.readOAuth(t)
	switch {
	case t.Has("token_file") && t.Has("token_env"):
		t.Fault("token_env", "conflicts with token_file", "keep one of the two")
	case t.Has("token_env") && !manifest.IsVariable(h.TokenEnv):
		t.Fault("token_env", "is not a variable name", "write only the name: the token itself does not belong in this file")
	case t.Has("token_file") && h.TokenFile == "":
		t.Fault("token_file", "is empty", absoluteRemedy)
	}
	if t.Has("state_keys") && h.StateKeys == "" {
		t.Fault("state_keys", "is empty", absoluteRemedy)
	}
	if t.Has("tls_cert") != t.Has("tls_key") {
		missing := "tls_key"
		if t.Has("tls_key") {
			missing = "tls_cert"
		}
		t.Fault(missing, "is missing", "set both tls_cert and tls_key, or neither")
	}
	if h.Insecure && t.Has("tls_cert") {
		t.Fault("insecure_http", "conflicts with tls_cert", "keep one of the two")
	}
	for _, key := range h.pathKeys() {
		c.readFile(t, key.name, "http."+key.name, key.path)
	}
	c.HTTP = h
}

// readNames reads the array at key, whose items must be distinct and accepted by check.
func readNames(t *tomlfile.Table, key string, check func(string) bool, remedy string) []string {
	names := t.Distinct(key, func(name string) (what, _ string) {
		if !check(name) {
			what = fmt.Sprintf("%s is not valid", tomlfile.Quote(name))
		}
		return what, remedy
	})
	if len(names) > maxNames {
		t.Fault(key, fmt.Sprintf("has more than %d items", maxNames), "remove some")
	}
	return names
}

func checkHost(name string) bool {
	return net.ParseIP(name) != nil || name != "" && len(name) <= 253 && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '.' && r != '_'
	})
}

func checkWebOrigin(name string) bool {
	u, err := url.Parse(name)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && checkHost(u.Hostname()) && name == u.Scheme+"://"+u.Host
}

// Values of the key listen in the [http] table of a ceiling.
const (
	listenAny      = "any"      // the default: the host may listen on all addresses
	listenLoopback = "loopback" // the host may listen on loopback addresses only
	listenNone     = "none"     // the host must not serve clients over HTTP
)

// HTTPBounds is the [http] table of a ceiling.
type HTTPBounds struct {
	Listen string // where the host may listen: listenAny, listenLoopback or listenNone
	Token  bool   // whether a bearer token is required even at loopback addresses
	TLS    bool   // whether plaintext is forbidden at addresses that are not loopback
	Line   int
}

func readHTTPBounds(t *tomlfile.Table) HTTPBounds {
	return HTTPBounds{
		Listen: t.OneOf("listen", listenAny, listenLoopback, listenNone),
		Token:  t.OneOf("token", "optional", "required") == "required",
		TLS:    t.OneOf("tls", "optional", "required") == "required",
		Line:   t.Line(),
	}
}

// HTTPProblem returns the reason why the ceiling forbids the host to serve clients over HTTP in this way; empty if it is allowed.
func (c *Ceiling) HTTPProblem(loopback, token, encrypted bool) string {
	if c == nil {
		return ""
	}
	what := ""
	switch b := c.HTTP; {
	case b.Listen == listenNone:
		what = "does not allow HTTP"
	case b.Listen == listenLoopback && !loopback:
		what = "allows HTTP at loopback addresses only"
	case b.Token && !token:
		what = "requires a bearer token"
	case b.TLS && !encrypted && !loopback:
		what = "requires TLS"
	default:
		return ""
	}
	return fmt.Sprintf("http (%s:%d) %s", c.File, c.HTTP.Line, what)
}
