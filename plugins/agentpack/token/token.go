// Package token issues and checks confirm tokens. The tool deploy returns a token together with a plan, and
// deploy_apply requires the token as proof that the caller has confirmed the plan. Start with Store.Issue and
// Store.Check. PlanHash returns the hash that binds a token to a plan.
//
// A token contains an expiry, the hash of the plan and the hash of the plan's arguments. A key in the plugin's state
// directory signs the token. So a token is valid in every instance, after a restart, and in other servers with the same
// state directory. The state directory also contains the list of used tokens.
package token

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
)

// Lifetime is the time for which a token is valid.
const Lifetime = 10 * time.Minute

// Store issues and checks tokens. The caller of Issue, Check or Use must hold a lock that excludes every other Store
// with the same directory.
type Store struct {
	Dir string // an existing directory, into which no other program writes
	// Private makes the file at path readable only by its owner. If Private is nil, the Store does not change the modes
	// of files.
	Private func(path string) error
}

// Binding holds the effective arguments for which a plan was computed. An absent argument is "".
type Binding struct {
	Machine, Profile, Repo, Target string
}

// Issued is a new token together with its expiry.
type Issued struct {
	Token   string
	Expires time.Time // UTC, in whole milliseconds
}

// Claim holds the content of a valid token.
type Claim struct {
	id       [idSize]byte
	expires  int64 // the expiry in milliseconds since the Unix epoch
	planHash [sha256.Size]byte
	binding  [sha256.Size]byte
}

// The layout of a token: version, id, expiry, hash of the arguments, hash of the plan, and the signature of these
// fields.
const (
	version    = 1
	idSize     = 16
	signedSize = 1 + idSize + 8 + 2*sha256.Size
	tokenSize  = signedSize + sha256.Size
)

var encoding = base64.RawURLEncoding.Strict()

// Issue returns a new token for a plan with the given hash. Several tokens can be valid at the same time.
func (s Store) Issue(binding Binding, planHash string, now time.Time) (Issued, error) {
	plan, err := decodeHash(planHash)
	if err != nil {
		return Issued{}, err
	}
	key, err := s.makeKey()
	if err != nil {
		return Issued{}, fmt.Errorf("cannot read the key of confirm tokens: %w", err)
	}
	expires := now.Add(Lifetime).UTC().Truncate(time.Millisecond)
	claim := Claim{expires: expires.UnixMilli(), planHash: plan, binding: binding.sum()}
	rand.Read(claim.id[:])
	signed := claim.encode()
	return Issued{Token: encoding.EncodeToString(append(signed, sign(key, signed)...)), Expires: expires}, nil
}

// Check validates a token. The error is E_CONFIRM_TOKEN_REQUIRED if the token is empty, E_CONFIRM_TOKEN_EXPIRED after
// the lifetime of the token, and E_CONFIRM_TOKEN_MISMATCH if the token is forged, used, or bound to other arguments.
// Check does not mark the token as used.
func (s Store) Check(token string, binding Binding, now time.Time) (Claim, error) {
	if token == "" {
		return Claim{}, refuse(fault.ConfirmTokenRequired, nil, "confirm_token is missing: pass the token that deploy returned")
	}
	claim, err := s.open(token)
	if err != nil {
		return Claim{}, err
	}
	used, _, err := s.readUsed()
	if err != nil {
		return Claim{}, err
	}
	left := claim.expires - now.UnixMilli()
	switch {
	// If more time is left than Lifetime, the clock was set back, and the age of the token is unknown.
	case left <= 0, left > Lifetime.Milliseconds(), claim.expires <= used.Floor:
		return Claim{}, refuse(fault.ConfirmTokenExpired, nil, "confirm_token is older than %v", Lifetime)
	case used.has(claim.id):
		return Claim{}, refuse(fault.ConfirmTokenMismatch, nil, "confirm_token was already used: a token is valid for one deploy_apply")
	case claim.binding != binding.sum():
		return Claim{}, refuse(fault.ConfirmTokenMismatch, nil, "confirm_token was issued for another repo, profile, target or machine")
	}
	return claim, nil
}

// Matches returns E_CONFIRM_TOKEN_MISMATCH unless the token was issued for a plan with the given hash.
func (c Claim) Matches(planHash string) error {
	now, err := decodeHash(planHash)
	if err != nil {
		return err
	}
	if now == c.planHash {
		return nil
	}
	return refuse(fault.ConfirmTokenMismatch, fault.Details{
		"confirm_plan_hash":          planHash,
		"expected_confirm_plan_hash": c.PlanHash(),
	}, "the plan differs from the confirmed plan: files or the config repo changed since deploy was called")
}

// PlanHash returns the hash of the plan for which the token was issued.
func (c Claim) PlanHash() string { return hex.EncodeToString(c.planHash[:]) }

// open verifies the signature of a token and decodes the token.
func (s Store) open(token string) (Claim, error) {
	unknown := refuse(fault.ConfirmTokenMismatch, nil, "confirm_token was not issued by deploy")
	if len(token) != encoding.EncodedLen(tokenSize) {
		return Claim{}, unknown
	}
	raw, err := encoding.DecodeString(token)
	if err != nil || len(raw) != tokenSize { // the decoder ignores line breaks, so the length can be wrong although err is nil
		return Claim{}, unknown
	}
	key, err := s.readKey()
	if errors.Is(err, errNoKey) {
		return Claim{}, unknown
	}
	if err != nil {
		return Claim{}, fmt.Errorf("cannot read the key of confirm tokens: %w", err)
	}
	signed, signature := raw[:signedSize], raw[signedSize:]
	if subtle.ConstantTimeCompare(sign(key, signed), signature) != 1 || signed[0] != version {
		return Claim{}, unknown
	}
	return decode(signed), nil
}

func refuse(code fault.Code, details fault.Details, format string, arguments ...any) error {
	all := fault.Details{"hint": "call deploy, review the plan that it returns, and call deploy_apply with the same arguments and its confirm_token"}
	for name, value := range details {
		all[name] = value
	}
	return fault.New(code, all, format, arguments...)
}

func sign(key, signed []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write(signed)
	return mac.Sum(nil)
}

func (c Claim) encode() []byte {
	raw := append([]byte{version}, c.id[:]...)
	raw = binary.BigEndian.AppendUint64(raw, uint64(c.expires))
	raw = append(raw, c.planHash[:]...)
	return append(raw, c.binding[:]...)
}

func decode(raw []byte) Claim {
	var c Claim
	raw = raw[1:]
	raw = raw[copy(c.id[:], raw):]
	c.expires = int64(binary.BigEndian.Uint64(raw))
	raw = raw[8:]
	raw = raw[copy(c.planHash[:], raw):]
	copy(c.binding[:], raw)
	return c
}

func (b Binding) sum() [sha256.Size]byte {
	raw, err := json.Marshal(b)
	if err != nil {
		panic(err) // unreachable, because a struct of strings can always be encoded
	}
	return sha256.Sum256(raw)
}

func decodeHash(text string) (hash [sha256.Size]byte, err error) {
	raw, err := hex.DecodeString(text)
	if err != nil || copy(hash[:], raw) != len(hash) || len(raw) != len(hash) {
		return hash, fmt.Errorf("%q is not a SHA-256 in hexadecimal", text)
	}
	return hash, nil
}
