package explain

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
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
	// Principal is what the audit log calls the client; empty: Name is that of a table, of no token, or of several.
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

// UnknownDir stands for the value of ${client} if the name of a token does not determine it: there is no such token, or there are several.
const UnknownDir = "(client)"

// clientCalled returns the client that a user describes: "local", "bearer", the name of a token or of a table of [[clients]], or the path of a
// file with the claims of a JWT. A path has a separator, or ends in .json. A token that does not exist needs a table that would match it.
func clientCalled(o discovery.Options, base *catalog.Catalog, text string) (Client, error) {
	switch {
	case text == call.LocalID, text == call.BearerID:
		return FindClient(base, text, &call.Principal{ID: text}), nil
	case strings.ContainsRune(text, '/') || strings.ContainsRune(text, filepath.Separator) || strings.HasSuffix(text, ".json"):
		p, err := readClaims(text)
		if err != nil {
			return Client{}, usage.Errorf("--client %s: %w", tomlfile.Quote(text), err)
		}
		return FindClient(base, text, p), nil
	case text == "" || !visible.Only(text):
		return Client{}, usage.Errorf("--client %s: write %s", tomlfile.Quote(text), clientForms)
	}
	if name, ok := strings.CutPrefix(text, TableForm); ok {
		if table := base.Clients.Table(name); table != nil {
			return clientOf(table), nil
		}
		return Client{}, usage.Errorf("--client %s: there is no table of [[clients]] of this name", tomlfile.Quote(text))
	}
	tokens, err := tokenIDs(o)
	if err != nil {
		return Client{}, usage.Errorf("--client %s: the named tokens are not known: %w; a table of [[clients]] is named as %sNAME", tomlfile.Quote(text), err, TableForm)
	}
	c := FindClient(base, text, &call.Principal{Name: text})
	switch ids := tokens[text]; {
	case len(ids) == 1:
		return FindClient(base, text, &call.Principal{ID: ids[0], Name: text}), nil
	case len(ids) > 1, len(base.Clients.Tables) == 0:
		return c, nil
	}
	if table := base.Clients.Table(text); table != nil {
		return clientOf(table), nil
	}
	if c.table == nil {
		names := slices.Sorted(maps.Keys(tokens))
		for _, table := range base.Clients.Tables {
			names = append(names, table.Name)
		}
		return Client{}, usage.Errorf("--client %s: there is no token and no table of [[clients]] of this name, and no table matches it: %s", tomlfile.Quote(text),
			usage.DidYouMean(text, names, "write "+clientForms+"; the names are "+strings.Join(names, ", ")))
	}
	c.By += "; there is no token of this name"
	return c, nil
}

// TableForm begins what names a table of [[clients]] even if a token has the same name.
const TableForm = "table:"

// clientForms are what clientCalled accepts.
const clientForms = "the name of a token or of a table of [[clients]] (" + TableForm + "NAME if a token has it, too), local, bearer, or the path of a file with the claims of a JWT"

// tokenIDs returns the principals of the named tokens, by their names.
func tokenIDs(o discovery.Options) (map[string][]string, error) {
	file, err := discovery.NamedTokens(o.System)
	if err != nil {
		return nil, err
	}
	named, err := file.Read()
	ids := map[string][]string{}
	for i := range named {
		ids[named[i].Name] = append(ids[named[i].Name], named[i].PrincipalID())
	}
	return ids, err
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
	c := Client{Admitted: admitted, dir: UnknownDir}
	if table != nil {
		c = clientOf(table)
	}
	if c.Name, c.Principal = name, p.ID; p.ID != "" {
		c.dir = config.ClientDir(p)
	}
	switch {
	case table != nil:
	case len(base.Clients.Tables) == 0:
		c.By = "the config has no [[clients]], so every client gets everything"
	case admitted:
		c.By = `no table of [[clients]] matches, and other_clients = "all"`
	default:
		c.By = `no table of [[clients]] matches, and other_clients is "none"`
	}
	return c
}

// clientOf returns the clients of a table, whichever they are.
func clientOf(table *config.Client) Client {
	c := Client{
		Name: table.Name, Admitted: true, Table: table.Name, By: fmt.Sprintf("%s (%s:%d): %s", table.Title, table.File, table.Line, table.Match),
		Projects: table.Projects, Metrics: table.Metrics, table: table, dir: UnknownDir,
	}
	if table.Quota != (config.Quota{}) {
		c.Quota = &table.Quota
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
