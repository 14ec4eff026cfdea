package config

import (
	"fmt"
	"maps"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
)

// Match says which principals a [[clients]] table applies to. Either Auth is set, or Tokens, or Issuer; all conditions that are set must
// hold.
type Match struct {
	Auth     string   // how the principal is authenticated: one of the values of auth
	Tokens   []string // globs of the names of tokens
	Issuer   string   // the issuer of the principal's JWT
	Subjects []string // the subject is one of these
	Groups   []string // one of the groups is one of these
	Claims   []Claim  // each of these holds
}

// Claim is a condition of a claim of a JWT.
type Claim struct {
	Path   []string // the names of the claim and of the members in it
	Values []string // the value is one of these, or a list that contains one of these
}

// Values of Match.Auth. The principals without a table of their own are listed in package gateway: LocalUser and TokenHolder.
const (
	authAny    = "any"
	authNone   = "none"   // no token: a client at a loopback address
	authBearer = "bearer" // the token of token_file or token_env
	authToken  = "token"  // any named token
	authOAuth  = "oauth"  // any JWT of an issuer
)

// AuthOf returns how a principal is authenticated.
func AuthOf(p *call.Principal) string {
	switch {
	case p.Issuer != "":
		return authOAuth
	case p.Name != "":
		return authToken
	case p.ID == call.BearerID:
		return authBearer
	}
	return authNone
}

// Bounds of the conditions of one table.
const (
	maxClaims     = 64
	maxClaimDepth = 8
	maxMatchText  = 2048 // bytes of an issuer, a subject, a group or a value
)

const matchRemedy = `write match = { tokens = ["ci-*"] }, { issuer = "https://…", groups = ["…"] } or { auth = "any" }`

func readMatch(t *tomlfile.Table) Match {
	in := t.Table("match")
	m := Match{Tokens: readGlobs(in, "tokens"), Issuer: in.String("issuer"), Subjects: readTexts(in, "subjects"), Groups: readTexts(in, "groups")}
	if in.Has("auth") {
		m.Auth = in.OneOf("auth", authAny, authNone, authBearer, authToken, authOAuth)
	}
	if claims := in.Table("claims"); claims.Present() {
		if m.Claims = readClaims(claims, nil); len(claims.Keys()) == 0 {
			in.Fault("claims", "has no condition", claimRemedy)
		}
	}
	if len(m.Claims) > maxClaims {
		in.Fault("claims", fmt.Sprintf("has more than %d conditions", maxClaims), "remove some")
	}
	given := slices.DeleteFunc([]string{"auth", "tokens", "issuer"}, func(key string) bool { return !in.Has(key) })
	switch {
	case !in.Present():
		if !t.Has("match") {
			t.Fault("match", "is missing", matchRemedy)
		}
	case len(given) > 1:
		in.Fault(given[1], "conflicts with "+given[0], "keep one of the two: a table matches one kind of clients")
	case !in.Has("issuer") && (in.Has("subjects") || in.Has("groups") || in.Has("claims")):
		in.Fault("issuer", "is missing: subjects, groups and claims mean nothing without their issuer", `write issuer = "https://…", one of the issuers of [http]`)
	case len(given) == 0:
		t.Fault("match", "has no condition", matchRemedy)
	case in.Has("issuer") && !isMatchText(m.Issuer):
		in.Fault("issuer", "is empty, too long, or contains invisible characters", "write the issuer as its tokens do")
	}
	return m
}

const claimRemedy = `write claims = { NAME = ["value"] }, or remove it`

func isMatchText(text string) bool {
	return text != "" && len(text) <= maxMatchText && visible.Only(text)
}

// readTexts reads an array of exact values. They have no wildcards: users choose their names in a provider, so that a pattern such as
// "admin*" could include a user who was not meant.
func readTexts(t *tomlfile.Table, key string) []string {
	return t.Distinct(key, func(text string) (what, remedy string) {
		if !isMatchText(text) {
			what = "is empty, too long, or contains invisible characters"
		}
		return what, "write the exact value: there are no wildcards here"
	})
}

// readClaims reads the conditions of a table of claims, and those of the tables in it. path has the names of the tables around it.
func readClaims(t *tomlfile.Table, path []string) []Claim {
	var all []Claim
	for _, name := range t.Keys() {
		at := append(slices.Clone(path), name)
		switch {
		case t.IsTable(name) && len(t.Table(name).Keys()) == 0: // it would include everybody
			t.Fault(name, "has no condition", claimRemedy)
		case len(at) > maxClaimDepth:
			t.Fault(name, fmt.Sprintf("is more than %d deep", maxClaimDepth), "remove it")
		case t.IsTable(name):
			all = append(all, readClaims(t.Table(name), at)...)
		default:
			all = append(all, Claim{at, readTexts(t, name)})
		}
	}
	return all
}

// Includes reports whether the conditions hold for p. A condition of JWTs holds for no other principal.
func (m Match) Includes(p *call.Principal) bool {
	switch {
	case m.Auth != "":
		return m.Auth == authAny || m.Auth == AuthOf(p)
	case m.Tokens != nil:
		return AuthOf(p) == authToken && (Filter{Allow: m.Tokens}).Allowed(p.Name)
	case m.Issuer == "" || m.Issuer != p.Issuer:
		return false
	}
	inGroups := func(group string) bool { return slices.Contains(m.Groups, group) }
	return (m.Subjects == nil || slices.Contains(m.Subjects, p.Subject)) &&
		(m.Groups == nil || slices.ContainsFunc(p.Groups, inGroups)) &&
		!slices.ContainsFunc(m.Claims, func(c Claim) bool { return !c.holds(p.Claims) })
}

// holds reports whether the condition holds for claims. Only strings and booleans are compared.
func (c Claim) holds(claims map[string]any) bool {
	var value any = claims
	for _, name := range c.Path {
		members, _ := value.(map[string]any)
		value = members[name]
	}
	switch value := value.(type) {
	case string:
		return slices.Contains(c.Values, value)
	case bool:
		return slices.Contains(c.Values, fmt.Sprint(value))
	case []any:
		return slices.ContainsFunc(value, func(item any) bool {
			text, ok := item.(string)
			return ok && slices.Contains(c.Values, text)
		})
	}
	return false
}

// String describes the conditions for people.
func (m Match) String() string {
	text := ""
	add := func(format string, args ...any) {
		if text != "" {
			text += ", "
		}
		text += fmt.Sprintf(format, args...)
	}
	if m.Auth != "" {
		add("%s", map[string]string{authAny: "every client", authNone: "clients without a token", authBearer: "the single bearer token",
			authToken: "every named token", authOAuth: "every JWT"}[m.Auth])
	}
	if m.Tokens != nil {
		add("tokens %q", m.Tokens)
	}
	if m.Issuer != "" {
		add("issuer %q", m.Issuer)
	}
	if m.Subjects != nil {
		add("subjects %q", m.Subjects)
	}
	if m.Groups != nil {
		add("groups %q", m.Groups)
	}
	claims := map[string][]string{}
	for _, c := range m.Claims {
		claims[fmt.Sprintf("%q", c.Path)] = c.Values
	}
	for _, path := range slices.Sorted(maps.Keys(claims)) {
		add("claim %s = %q", path, claims[path])
	}
	return text
}
