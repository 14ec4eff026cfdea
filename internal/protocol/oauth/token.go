package oauth

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-jose/go-jose/v4"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/bearer"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Bounds of a token.
const (
	maxToken  = 16 << 10 // bytes
	maxValues = 2048     // JSON values of header or claims
	maxDepth  = 16
	skew      = time.Minute // by which the clocks of issuer and server may differ
	maxTime   = 1 << 40     // seconds since 1970
)

// algorithms are the accepted signature algorithms: asymmetric ones, so that the key of an issuer verifies and cannot sign.
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

// header are the members of a token's header that say how it is verified.
type header struct {
	algorithm jose.SignatureAlgorithm
	keyID     string // empty: none is stated
	profiled  bool   // its type is that of RFC 9068
}

// token is a parsed token. Nothing of it is to be relied on before isSignedBy.
type token struct {
	text   string
	claims []byte // JSON
	header header
	issuer string
}

func parse(text string) (*token, error) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return nil, refused("the token is neither one that the server knows nor a JWT")
	}
	head, err := decodePart(parts[0])
	if err != nil {
		return nil, err
	}
	t := &token{text: text}
	if t.header, err = readHeader(head); err != nil {
		return nil, err
	}
	if t.claims, err = decodePart(parts[1]); err != nil {
		return nil, err
	}
	t.issuer, _ = rawjson.Unquote(rawjson.Member(t.claims, "iss"))
	return t, nil
}

// decodePart decodes a part of a token that is a JSON object whose members are unique.
func decodePart(part string) ([]byte, error) {
	data, err := base64.RawURLEncoding.Strict().DecodeString(part)
	if err != nil || strings.ContainsAny(part, "\r\n") { // which the decoder skips
		return nil, refused("the token is not encoded as a JWT")
	}
	if rawjson.Bound(data, maxValues, maxDepth) != nil {
		return nil, refused("the token has too many values, or nests them too deeply")
	}
	// Decoders replace what is not Unicode, so that different subjects would become one.
	s := rawjson.NewScanner(data)
	object := s.Object(nil)
	if !s.End() || rawjson.Kind(object) != '{' || !utf8.Valid(data) || s.HasUnpaired() || !hasUniqueMembers(data) {
		return nil, refused("a part of the token is not a JSON object in Unicode with unique members")
	}
	return data, nil
}

// hasUniqueMembers reports whether no object in a value has two members of one name, of which decoders would use different ones.
func hasUniqueMembers(value []byte) bool {
	switch rawjson.Kind(value) {
	case '{':
		seen := map[string]bool{}
		for name, member := range rawjson.Members(value) {
			if seen[name] || !hasUniqueMembers(member) {
				return false
			}
			seen[name] = true
		}
	case '[':
		for _, element := range rawjson.Elements(value) {
			if !hasUniqueMembers(element) {
				return false
			}
		}
	}
	return true
}

// readHeader reads a header. Members that name a key other than by its ID, such as jwk and x5u, are ignored: only the issuer's keys count.
func readHeader(data []byte) (h header, err error) {
	name, _ := rawjson.Unquote(rawjson.Member(data, "alg"))
	h.algorithm = jose.SignatureAlgorithm(name)
	if !slices.Contains(algorithms, h.algorithm) {
		return h, refused("the signature algorithm of the token is not accepted")
	}
	if rawjson.Member(data, "crit") != nil || rawjson.Member(data, "b64") != nil {
		return h, refused("the token has critical headers, of which none is supported")
	}
	if kid := rawjson.Member(data, "kid"); kid != nil {
		var ok bool
		if h.keyID, ok = rawjson.Unquote(kid); !ok || h.keyID == "" {
			return h, refused("the key ID of the token is not a string")
		}
	}
	kind, stated := rawjson.Unquote(rawjson.Member(data, "typ"))
	switch kind = strings.ToLower(kind); {
	case kind == "at+jwt", kind == "application/at+jwt":
		h.profiled = true
	case kind == "jwt", !stated && rawjson.Member(data, "typ") == nil:
	default:
		return h, refused("the token is not an access token: its type is another one")
	}
	return h, nil
}

// isSignedBy reports whether one of the keys has signed the token.
func (t *token) isSignedBy(keys []jose.JSONWebKey) bool {
	if len(keys) == 0 {
		return false
	}
	signed, err := jose.ParseSignedCompact(t.text, []jose.SignatureAlgorithm{t.header.algorithm})
	if err != nil {
		return false
	}
	return slices.ContainsFunc(keys, func(k jose.JSONWebKey) bool {
		claims, err := signed.Verify(k.Key)
		return err == nil && bytes.Equal(claims, t.claims)
	})
}

// check checks the claims of a token whose signature was verified, except for its audience and scopes, which it returns: whether the token
// has the scopes. The result lacks the issuer and the keys.
func (t *token) check(now time.Time, scopes []string) (*verified, error) {
	c, err := decodeClaims(t.claims)
	if err != nil {
		return nil, refused("the claims of the token cannot be decoded")
	}
	p := c.principal()
	fail := func(why string) (*verified, error) {
		if p.Subject == "" {
			return nil, refused(why)
		}
		return nil, &bearer.Refused{Why: why, Principal: p}
	}
	expires, notBefore, issued := c.time("exp"), c.time("nbf"), c.time("iat")
	audience, ok := c.list("aud")
	switch {
	case c.wrong != "":
		return fail(fmt.Sprintf("the claim %s of the token has another type", c.wrong))
	case p.Subject == "":
		return fail("the token has no subject")
	case expires.IsZero():
		return fail("the token has no expiry")
	case !ok || len(audience) == 0:
		return fail("the token has no audience")
	case !now.Before(expires.Add(skew)):
		return fail("the token has expired")
	case now.Add(skew).Before(notBefore):
		return fail("the token is not valid yet")
	case now.Add(skew).Before(issued):
		return fail("the token was issued in the future")
	case !t.header.profiled && c.isOther():
		return fail("the token is not an access token: it has claims of another one")
	case c.all["cnf"] != nil:
		return fail("the token is bound to a key of the client, which the server cannot check")
	}
	granted := c.scopes()
	return &verified{
		access: bearer.Access{Principal: p, Expires: expires.Add(skew)}, audience: audience, size: sizeOf(t.claims),
		lacksScope: slices.ContainsFunc(scopes, func(s string) bool { return !slices.Contains(granted, s) }),
	}, nil
}

// idOf returns the ID of the principal with an issuer and a subject: a digest of both, with the length of the first, so that no two have one.
func idOf(issuer, subject string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d:%s%s", len(issuer), issuer, subject))
	return "oauth:" + hex.EncodeToString(sum[:20])
}

// Principal returns the principal that the claims of a token, a JSON object, name. It verifies nothing.
func Principal(data []byte) (*call.Principal, error) {
	c, err := decodeClaims(data)
	if err != nil {
		return nil, err
	}
	return c.principal(), nil
}

// claims are the decoded claims of a token.
type claims struct {
	all   map[string]any
	wrong string // the first claim that has another type than was asked for
}

func decodeClaims(data []byte) (*claims, error) {
	c := &claims{}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	return c, decoder.Decode(&c.all)
}

func (c *claims) principal() *call.Principal {
	issuer, subject := c.text("iss"), c.text("sub")
	p := &call.Principal{ID: idOf(issuer, subject), Issuer: issuer, Subject: subject, Claims: c.all}
	if groups, ok := c.list("groups"); ok {
		p.Groups = groups
	}
	return p
}

func (c *claims) fail(name string) {
	if c.wrong == "" {
		c.wrong = name
	}
}

// text returns a string; empty if the claim is absent.
func (c *claims) text(name string) string {
	value, ok := c.all[name].(string)
	if !ok && c.all[name] != nil {
		c.fail(name)
	}
	return value
}

// time returns a time; zero if the claim is absent.
func (c *claims) time(name string) time.Time {
	if c.all[name] == nil {
		return time.Time{}
	}
	n, _ := c.all[name].(json.Number)
	seconds, err := n.Float64()
	if err != nil || seconds < 1 || seconds > maxTime {
		c.fail(name)
		return time.Time{}
	}
	return time.Unix(int64(seconds), 0)
}

// list returns the strings of a claim, which is one string or an array of strings. It returns false if it is neither.
func (c *claims) list(name string) ([]string, bool) {
	switch value := c.all[name].(type) {
	case string:
		return []string{value}, true
	case []any:
		all := make([]string, len(value))
		for i, v := range value {
			var ok bool
			if all[i], ok = v.(string); !ok {
				return nil, false
			}
		}
		return all, true
	}
	return nil, false
}

// scopes returns the granted scopes: of the claim scope of RFC 9068, or scp, which some issuers use instead.
func (c *claims) scopes() (all []string) {
	for _, name := range []string{"scope", "scp"} {
		values, _ := c.list(name)
		for _, value := range values {
			all = append(all, strings.Fields(value)...)
		}
	}
	return all
}

// isOther reports whether claims are those of an ID token, a logout token, or a refresh token. Issuers that do not follow RFC 9068 give all
// tokens one type in the header.
func (c *claims) isOther() bool {
	for _, name := range []string{"nonce", "at_hash", "c_hash", "s_hash", "events"} {
		if c.all[name] != nil {
			return true
		}
	}
	kind, _ := c.all["typ"].(string) // of Keycloak
	return kind != "" && !strings.EqualFold(kind, "Bearer")
}
