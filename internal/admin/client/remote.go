package client

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/download"
	"github.com/bulkhead-mcp/bulkhead/internal/base/jsonfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// remote converts an Entry with a URL to the fields that a client expects, and back.
type remote struct {
	kind     string    // value of the field type; empty: the field is absent
	url      string    // name of the field with the URL
	token    string    // name of the field with the name of the token's variable; empty: a header refers to the variable
	variable [2]string // what a client has before and after the name of a variable in a header
	// noURL says why the client's file cannot have a URL, and noToken why it cannot refer to a variable, each with the remedy.
	noURL, noToken string
}

// The header with the token, and what precedes the token.
const (
	authorization = "Authorization"
	bearer        = "Bearer "
)

// fields returns the fields of an entry with a URL.
func (r *remote) fields(e Entry) jsonfile.Object {
	var fields jsonfile.Object
	if r.kind != "" {
		fields = append(fields, jsonfile.Member{Name: "type", Value: r.kind})
	}
	fields = append(fields, jsonfile.Member{Name: r.url, Value: e.URL})
	switch {
	case e.TokenEnv == "":
	case r.token != "":
		fields = append(fields, jsonfile.Member{Name: r.token, Value: e.TokenEnv})
	default:
		fields = append(fields, jsonfile.Member{Name: "headers", Value: jsonfile.Object{{Name: authorization, Value: r.header(e.TokenEnv)}}})
	}
	return fields
}

// header returns the value of the header that refers to a variable.
func (r *remote) header(variable string) string {
	return bearer + r.variable[0] + variable + r.variable[1]
}

// read returns the entry of fields. It reports false for a URL that Add would not write: it could contain a credential.
func (r *remote) read(fields object) (Entry, bool) {
	at, _ := fields[r.url].(string)
	if r.noURL != "" || checkURL(at) != nil {
		return Entry{}, false
	}
	if kind, ok := fields["type"].(string); ok && r.kind != "" && kind != r.kind {
		return Entry{}, false
	}
	name, _ := fields[r.token].(string)
	if r.token == "" && r.noToken == "" {
		headers, _ := fields["headers"].(object)
		value, _ := headers[authorization].(string)
		name = strings.TrimSuffix(strings.TrimPrefix(value, bearer+r.variable[0]), r.variable[1])
		if value != r.header(name) {
			name = ""
		}
	}
	if !manifest.IsVariable(name) {
		name = ""
	}
	return Entry{URL: at, TokenEnv: name}, true
}

// remoteEntry returns the entry with the URL of the options.
func (c *Client) remoteEntry(o Options) (Entry, error) {
	e := Entry{URL: o.URL, TokenEnv: o.TokenEnv}
	switch {
	case c.remote.noURL != "":
		return e, usage.Errorf("%s", c.remote.noURL)
	case e.TokenEnv != "" && c.remote.noToken != "":
		return e, usage.Errorf("%s", c.remote.noToken)
	case !isRemoteName(o.Name):
		return e, usage.Errorf("--name: %q is not a name for an entry with a URL, which is recognized by its name: use %s or %[2]s-…", o.Name, DefaultName)
	}
	return e, nil
}

// isRemoteName reports whether an entry with a URL and this name counts as Bulkhead's. A file says nothing else about whose server is at a URL.
func isRemoteName(name string) bool {
	return name == DefaultName || strings.HasPrefix(name, DefaultName+"-")
}

// maxURL is the maximum length of a URL, in bytes.
const maxURL = 2048

// CheckURL returns an error unless Add accepts the URL of a server and the name of the variable with its token; empty: without a token.
func CheckURL(endpoint, tokenEnv string) error {
	if err := checkURL(endpoint); err != nil {
		return usage.Errorf("--url: %w", err)
	}
	if tokenEnv != "" && !manifest.IsVariable(tokenEnv) {
		return usage.Errorf("--token-env: the value is not the name of a variable. The token itself must not be in the file of a client: set a variable to it, and pass the variable's name")
	}
	return nil
}

// checkURL returns an error that quotes nothing that could be a credential.
func checkURL(endpoint string) error {
	u, err := url.Parse(endpoint)
	switch {
	case len(endpoint) > maxURL:
		return fmt.Errorf("longer than %d bytes", maxURL)
	case err != nil || u.Hostname() == "" || strings.Trim(strings.ToLower(u.Host), "abcdefghijklmnopqrstuvwxyz0123456789.-_:[]") != "":
		return fmt.Errorf("not a URL such as https://mcp.example.com/mcp")
	case u.User != nil || strings.ContainsAny(endpoint, "?#$"):
		return fmt.Errorf("a user name, a query, a fragment and the character $ are not accepted: pass a token with --token-env NAME")
	case u.Scheme != "https" && (u.Scheme != "http" || !download.IsLoopback(u.Hostname())):
		return fmt.Errorf("https is required, except at a loopback address: tokens and data would cross the network unencrypted")
	case strings.Trim(u.Path, "/") == "":
		return fmt.Errorf("%s has no path: the endpoint is %s://%s/mcp", endpoint, u.Scheme, u.Host)
	case u.String() != endpoint:
		return fmt.Errorf("%q is not in canonical form: write %s", endpoint, u)
	}
	return nil
}
