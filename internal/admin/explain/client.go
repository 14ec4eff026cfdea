package explain

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/review"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/oauth"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Client says which [[clients]] table decides for a client over HTTP.
type Client struct {
	Name string `json:"name"`
	// Principal is what the audit log calls the client; empty: there is no token of this name, or there are several.
	Principal string        `json:"principal,omitempty"`
	Admitted  bool          `json:"admitted"`        // whether the client is granted anything
	Table     string        `json:"table,omitempty"` // name of the table; empty: none decides
	By        string        `json:"by"`              // the line that decides, or the rule
	Projects  []string      `json:"projects,omitzero"`
	Quota     *config.Quota `json:"quota,omitempty"`
	Metrics   bool          `json:"metrics,omitempty"` // whether the client may read the metrics of the server

	table *config.Client
	dir   string // value of ${client}
}

// maxClaimsFile bounds a file of claims, in bytes: no server accepts a JWT of that size.
const maxClaimsFile = 64 << 10

// unknownDir stands for the value of ${client} if the name of a token does not determine it: there is no such token, or there are several.
const unknownDir = "(client)"

// ParseClient returns the principal that a user describes: "local", "bearer", the name of a token, or the path of a file with the claims of a
// JWT. A path has a separator, or ends in .json. The principal of a name has no ID, unless there is exactly one token of that name.
func ParseClient(o discovery.Options, text string) (*call.Principal, error) {
	switch {
	case text == call.LocalID, text == call.BearerID:
		return &call.Principal{ID: text}, nil
	case strings.ContainsRune(text, '/') || strings.ContainsRune(text, filepath.Separator) || strings.HasSuffix(text, ".json"):
		p, err := readClaims(text)
		if err != nil {
			return nil, usage.Errorf("--client %s: %w", tomlfile.Quote(text), err)
		}
		return p, nil
	case text == "" || !visible.Only(text):
		return nil, usage.Errorf("--client %s: write the name of a token, local, bearer, or the path of a file with the claims of a JWT", tomlfile.Quote(text))
	}
	return &call.Principal{ID: idOf(o, text), Name: text}, nil
}

// idOf returns the id of the only token with a name; empty if there is none, or if there are several.
func idOf(o discovery.Options, name string) string {
	file, err := discovery.NamedTokens(o.System)
	if err != nil {
		return ""
	}
	named, _ := file.Read() // the command explains the config, whatever the state of the tokens
	id := ""
	for _, token := range named {
		if token.Name == name && id != "" {
			return ""
		}
		if token.Name == name {
			id = token.PrincipalID()
		}
	}
	return id
}

func readClaims(file string) (*call.Principal, error) {
	data, err := filesystem.ReadFile(filesystem.OS{}, file, maxClaimsFile)
	if err != nil {
		return nil, err
	}
	p, err := oauth.Principal(data)
	if err != nil || !rawjson.Valid(data) || p.Claims == nil {
		return nil, errors.New("is not a JSON object of claims: write {\"iss\": \"https://…\", \"sub\": \"…\"}")
	}
	if p.Issuer == "" || p.Subject == "" {
		return nil, errors.New("has no claims iss and sub that are strings")
	}
	return p, nil
}

// FindClient returns which table of base decides for the principal p, which the user calls name.
func FindClient(base *catalog.Catalog, name string, p *call.Principal) Client {
	table, admitted := base.Clients.Of(p)
	c := Client{Name: name, Principal: p.ID, Admitted: admitted, table: table, dir: unknownDir}
	if p.ID != "" {
		c.dir = config.ClientDir(p)
	}
	switch {
	case table != nil:
		c.Table, c.By = table.Name, fmt.Sprintf("%s (%s:%d): %s", table.Key, table.File, table.Line, table.Match)
		if c.Projects = table.Projects; table.Quota != (config.Quota{}) {
			c.Quota = &table.Quota
		}
		c.Metrics = table.Metrics
	case len(base.Clients.Tables) == 0:
		c.By = "the config has no [[clients]], so every client gets everything"
	case admitted:
		c.By = `no table of [[clients]] matches, and other_clients = "all"`
	default:
		c.By = `no table of [[clients]] matches, and other_clients is "none"`
	}
	return c
}

// AllowsProject reports whether the client may use the project called name; empty: the server's own.
func (c Client) AllowsProject(name string) bool {
	return c.Admitted && (c.table == nil || c.table.AllowsProject(name))
}

// Plugin returns p, of the complete catalog base, as the client gets it. why is the reason why the client does not get it.
func (c Client) Plugin(base *catalog.Catalog, p *catalog.Plugin) (_ *catalog.Plugin, why review.Reason) {
	switch {
	case !c.Admitted:
		return p, review.Reason{By: c.By}
	case c.table != nil && !c.table.AllowsPlugin(p.Name):
		return p, review.Reason{By: "not in " + c.table.At("plugins"), At: []config.Position{c.table.Position("plugins")}}
	}
	return base.PluginFor(p, c.table, c.dir), review.Reason{}
}
