package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
)

// Clients are the [[clients]] tables, which narrow what clients over HTTP are granted.
type Clients struct {
	Tables []Client // in the order of the config: the first that matches a principal decides
	Others string   // what clients get that no table matches, if there is a table: othersNone or othersAll
	// OthersAt is the position of other_clients, or of [http]; the zero value: neither is set.
	OthersAt Position
}

// Values of the key other_clients in [http].
const (
	othersNone = "none" // the default: nothing
	othersAll  = "all"  // the complete grants
)

// Client is one [[clients]] table: the principals that it applies to, and the most that they are granted. Each key only narrows grants.
type Client struct {
	Name      string // unique among the tables
	Match     Match
	Keys      []string // the keys of the table that narrow grants
	Plugins   []string // globs of the plugins' names; nil: all plugins
	Projects  []string // globs of the projects' names; nil: all projects
	Prompts   Filter
	Resources Filter // filter of the resources' URIs
	Quota     Quota
	// Metrics is whether the principals may read the metrics of the server. It is the one right that only a table gives.
	Metrics bool
	Bounds
}

// Quota bounds what one principal uses. A field that is 0 bounds nothing.
type Quota struct {
	Requests   int64 `json:"requests_per_second,omitempty"` // requests a second
	Burst      int64 `json:"burst,omitempty"`               // requests at once, after a time without requests; 0: Requests
	Concurrent int64 `json:"concurrent,omitempty"`          // calls at the same time
	Bytes      int64 `json:"bytes_per_day,omitempty"`       // bytes of requests and responses a day
	Fuel       int64 `json:"fuel_per_day,omitempty"`        // fuel a day
	Questions  int64 `json:"questions,omitempty"`           // calls that wait for an answer of the client
}

// String lists the bounds that are set.
func (q Quota) String() string {
	var all []string
	for _, one := range []struct {
		value int64
		key   string
	}{{q.Requests, "requests_per_second"}, {q.Burst, "burst"}, {q.Concurrent, "concurrent"}, {q.Bytes, "bytes_per_day"}, {q.Fuel, "fuel_per_day"}, {q.Questions, "questions"}} {
		if one.value > 0 {
			all = append(all, fmt.Sprintf("%s = %d", one.key, one.value))
		}
	}
	return strings.Join(all, ", ")
}

// Of returns the table that decides for p; nil if no table does. admitted is false if p is granted nothing.
func (c *Clients) Of(p *call.Principal) (client *Client, admitted bool) {
	for i := range c.Tables {
		if c.Tables[i].Match.Includes(p) {
			return &c.Tables[i], true
		}
	}
	return nil, c.AdmitsOthers()
}

// AdmitsOthers reports whether principals that no table matches are granted everything.
func (c *Clients) AdmitsOthers() bool { return len(c.Tables) == 0 || c.Others == othersAll }

// MayReadMetrics reports whether a table lets p read the metrics of the server.
func (c *Clients) MayReadMetrics(p *call.Principal) bool {
	client, _ := c.Of(p)
	return client != nil && client.Metrics
}

// DecidesAs reports whether each principal is decided for by the same table as in other, and may use the same projects.
func (c *Clients) DecidesAs(other *Clients) bool {
	return c.Others == other.Others && slices.EqualFunc(c.Tables, other.Tables, func(a, b Client) bool {
		return a.Name == b.Name && a.UsesPrincipal() == b.UsesPrincipal() && reflect.DeepEqual(a.Match, b.Match) && reflect.DeepEqual(a.Projects, b.Projects)
	})
}

// Table returns the table called name; nil if there is none.
func (c *Clients) Table(name string) *Client {
	for i := range c.Tables {
		if c.Tables[i].Name == name {
			return &c.Tables[i]
		}
	}
	return nil
}

// Describe returns a line for each table, and one for the clients that no table matches; nil if there is no table.
func (c *Clients) Describe() []string {
	var lines []string
	for _, client := range c.Tables {
		lines = append(lines, fmt.Sprintf("%s: %s: %s", client.Name, client.Match, client.narrows()))
	}
	if lines != nil {
		others := "nothing"
		if c.Others == othersAll {
			others = "everything"
		}
		lines = append(lines, "others: "+others)
	}
	return lines
}

// narrows lists the keys of the table that narrow grants.
func (c *Client) narrows() string {
	metrics := ""
	if c.Metrics {
		metrics = ", and the metrics of the server"
	}
	if len(c.Keys) == 0 {
		return "everything" + metrics
	}
	return "narrowed by " + strings.Join(c.Keys, ", ") + metrics
}

// Unresolved is like Ceiling.Unresolved for the paths of the tables.
func (c Clients) Unresolved(resolve func(path string) (string, error)) []string {
	var all []Bounds
	for _, t := range c.Tables {
		all = append(all, t.Bounds)
	}
	return unresolved(all, resolve)
}

// WithoutLines returns c without what only messages use: two configs whose comments differ have equal results.
func (c Clients) WithoutLines() Clients {
	c.Tables, c.OthersAt = slices.Clone(c.Tables), Position{}
	for i := range c.Tables {
		b := &c.Tables[i].Bounds
		b.File, b.Key, b.Lines, b.Line = "", "", nil, 0
		b.FS, b.Git = slices.Clone(b.FS), slices.Clone(b.Git)
		for j := range b.FS {
			b.FS[j].Line = 0
		}
		for j := range b.Git {
			b.Git[j].Line = 0
		}
	}
	return c
}

// AllowsPlugin reports whether the table allows the plugin called name.
func (c *Client) AllowsPlugin(name string) bool { return Filter{Allow: c.Plugins}.Allowed(name) }

// AllowsProject reports whether the table allows the project called name.
func (c *Client) AllowsProject(name string) bool { return Filter{Allow: c.Projects}.Allowed(name) }

// varClient is a component of a path in [[clients]]. Its value differs between principals.
const varClient = "${client}"

// UsesPrincipal reports whether the grants differ between the principals of the table, because a path names ${client}.
func (c *Client) UsesPrincipal() bool {
	return slices.ContainsFunc(c.FS, func(f manifest.FS) bool { return strings.Contains(f.Path, varClient) })
}

// ClientDir returns the value of ${client}: a file name that no other principal has. An ID that is used again after a token was revoked or
// a user renamed is a different one, so that no directory is inherited.
func ClientDir(p *call.Principal) string {
	sum := sha256.Sum256([]byte(p.ID))
	return hex.EncodeToString(sum[:16])
}

// maxClients bounds the tables, since each request is compared with them.
const maxClients = 256

// clientKeys are the keys of a table that narrow grants.
var clientKeys = []string{"plugins", "projects", "allow_tools", "deny_tools", "allow_prompts", "deny_prompts", "allow_resources", "deny_resources", "read_only",
	"fs", "deny", "git", "http", "env", "ask", keyApproveWrites, keyApproveTools, "limits", "isolation", "secret_commands", "quota"}

func (c *Config) readClients(root *tomlfile.Table) {
	tables := root.Tables("clients")
	if len(tables) > maxClients {
		root.Fault("clients", fmt.Sprintf("has more than %d tables", maxClients), "merge some of them, or match groups")
		return
	}
	for _, t := range tables {
		client := Client{
			Keys:      slices.DeleteFunc(slices.Clone(clientKeys), func(key string) bool { return !t.Has(key) }),
			Name:      t.Required("name", `write name = "…", by which messages and bulkhead policy call the table`),
			Match:     readMatch(t),
			Plugins:   readGlobs(t, "plugins"),
			Projects:  readGlobs(t, "projects"),
			Prompts:   readFilter(t, "prompts"),
			Resources: readFilter(t, "resources"),
			Quota:     readQuota(t.Table("quota")),
			Metrics:   t.Bool(keyMetrics, false),
			Bounds:    readBounds(t, checkClientPath),
		}
		client.setTitle(client.Name)
		for _, key := range slices.Concat(client.Keys, []string{keyMetrics}) {
			client.Lines[key] = t.LineOf(key)
		}
		if n := len(client.FS); n > MaxDirectories {
			t.Fault("fs", fmt.Sprintf("has %d directories, but a plugin can have at most %d", n, MaxDirectories), "allow a directory that contains several of them")
		}
		switch first := c.Clients.Table(client.Name); {
		case client.Name == "": // reported
		case client.Name == call.LocalID, client.Name == call.BearerID:
			t.Fault("name", fmt.Sprintf("%s is what clients without a token of their own are called", tomlfile.Quote(client.Name)), "give the table another name")
		case !isCredentialName(client.Name):
			t.Fault("name", fmt.Sprintf("%s is not a name of a table", tomlfile.Quote(client.Name)), "use 1 to 64 of letters, digits, _ and -")
		case first != nil:
			t.Fault("name", fmt.Sprintf("is also the name of the table in line %d", first.Line), "give each table a name of its own")
		}
		c.Clients.Tables = append(c.Clients.Tables, client)
	}
}

// readOthers reads the key other_clients of [http].
func (c *Config) readOthers(http *tomlfile.Table) {
	others := http.OneOf("other_clients", othersNone, othersAll)
	if len(c.Clients.Tables) > 0 {
		c.Clients.Others = others
		if http.Present() {
			c.Clients.OthersAt = Position{http.FileOf("other_clients"), http.LineOf("other_clients")}
		}
	} else if http.Has("other_clients") {
		http.Fault("other_clients", "has no effect without [[clients]]", "add [[clients]], or remove it")
	}
}

// checkClientPath is like checkCeilingPath, but accepts ${client} as a component.
func checkClientPath(path string) error {
	named := strings.Contains(path, varClient)
	for component := range strings.SplitSeq(path, "/") {
		if strings.Contains(component, varClient) && component != varClient {
			return errors.New("has ${client} beside other characters of a path component")
		}
	}
	switch {
	case named && strings.HasPrefix(path, varClient):
		return errors.New("begins with ${client}, which is the name of a directory")
	case !visible.Only(path):
		return errors.New("contains invisible characters")
	}
	return checkCeilingPath(strings.ReplaceAll(path, varClient, "client"))
}

func readQuota(t *tomlfile.Table) Quota {
	const most = 1 << 53
	q := Quota{
		Requests:   manifest.ReadCount(t, "requests_per_second", 1, 1_000_000),
		Burst:      manifest.ReadCount(t, "burst", 1, 1_000_000),
		Concurrent: manifest.ReadCount(t, "concurrent", 1, 1_000_000),
		Bytes:      manifest.ReadSize(t, "bytes_per_day", 1, most),
		Fuel:       manifest.ReadCount(t, "fuel_per_day", 1, most),
		Questions:  manifest.ReadCount(t, "questions", 1, 1_000_000),
	}
	if t.Has("burst") && !t.Has("requests_per_second") {
		t.Fault("burst", "has no effect without requests_per_second", "set requests_per_second, or remove it")
	}
	return q
}
