package httpserver

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// metadataPath is the well-known path of RFC 9728.
const metadataPath = "/.well-known/oauth-protected-resource"

// Resource describes a server to clients of OAuth, by RFC 9728.
type Resource struct {
	URL     string   // of the endpoint Path, as clients see it, without a slash at its end
	Issuers []string // of accepted tokens
	Scopes  []string // that a token must have
}

// parts returns the origin and the path of the URL.
func (o *Resource) parts() (origin, path string) {
	u, err := url.Parse(o.URL)
	if err != nil {
		return o.URL, ""
	}
	return u.Scheme + "://" + u.Host, u.EscapedPath()
}

// challenge returns the parameters of WWW-Authenticate that tell a client where to get a token for an endpoint: empty for Path, "/NAME" for
// one below it.
func (o *Resource) challenge(endpoint string) string {
	if o == nil {
		return ""
	}
	origin, path := o.parts()
	parameters := `, resource_metadata="` + origin + metadataPath + path + endpoint + `"`
	if len(o.Scopes) > 0 {
		parameters += `, scope="` + strings.Join(o.Scopes, " ") + `"`
	}
	return parameters
}

// endpointOf returns the endpoint whose metadata is at a path. The one at the root is that of Path. Whether an endpoint exists is not
// revealed.
func (o *Resource) endpointOf(path string) (endpoint string, ok bool) {
	rest, ok := strings.CutPrefix(path, metadataPath)
	if !ok || o == nil {
		return "", false
	}
	_, own := o.parts()
	if rest == "" || rest == own {
		return "", true
	}
	endpoint, ok = strings.CutPrefix(rest, own)
	name, isBelow := strings.CutPrefix(endpoint, "/")
	return endpoint, ok && isBelow && isEndpointName(name)
}

// isEndpointName reports whether an endpoint can have the name.
func isEndpointName(name string) bool {
	return name != "" && len(name) <= 64 && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_' && r != '.'
	})
}

// metadata answers with the metadata of an endpoint, which needs no token and is the same for all clients.
func (o *Resource) metadata(w http.ResponseWriter, r *http.Request, endpoint string) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		refuse(w, http.StatusMethodNotAllowed, "the method must be GET")
		return
	}
	document := struct {
		Resource string   `json:"resource"`
		Issuers  []string `json:"authorization_servers"`
		Scopes   []string `json:"scopes_supported,omitempty"`
		Methods  []string `json:"bearer_methods_supported"`
		Name     string   `json:"resource_name"`
	}{o.URL + endpoint, o.Issuers, o.Scopes, []string{"header"}, "Bulkhead"}
	body, err := rawjson.Marshal(document)
	if err != nil {
		refuse(w, http.StatusInternalServerError, "the metadata cannot be encoded")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "max-age=300")
	_, _ = w.Write(body) // a client that has gone does not need it
}
