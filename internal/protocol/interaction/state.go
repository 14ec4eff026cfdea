package interaction

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// State is the state of a call between an ask and the next round.
type State struct {
	Round   int                        `json:"round"`             // number of asks so far
	Plugin  string                     `json:"plugin"`            // identifies the plugin, and its version, that asked
	Asked   map[string]Kind            `json:"asked,omitempty"`   // the ids of the last ask
	Answers map[string]json.RawMessage `json:"answers,omitempty"` // of the asks before the last one
	Module  string                     `json:"module,omitempty"`  // the module's own state
	// Approval is set if the call needs approval. A State with one is accepted once, by the process that made it.
	Approval *Approval `json:"approval,omitempty"`
	Expires  int64     `json:"expires"` // in milliseconds since the Unix epoch
}

// maxToken bounds a token, in bytes. A State within the bounds of package abi is smaller: in JSON, a byte of the module's
// state can take six, and base64 adds a third.
const maxToken = (abi.MaxAskAnswers + 6*abi.MaxAskState + 64<<10) / 3 * 4

// The first byte of what a token encodes says which key encrypted it. It changes with the encoding.
const (
	byServer = 1 // the key of one process
	byShared = 2 // a key that servers share
)

// Errors of Open. errToken does not say how a token was found invalid.
var (
	errToken   = errors.New("it is not valid for this request: it is from a different request or server, or was changed")
	ErrExpired = errors.New("it has expired")
)

// Sealer encrypts and authenticates the State of a call, for a client to keep. Its own key exists in memory only, so a token is
// valid for the process that made it, unless servers share keys. A State with an Approval is always for one process: only this one knows
// whether it was used. A Sealer is safe for concurrent use.
type Sealer struct {
	own    cipher.AEAD
	shared atomic.Pointer[[]cipher.AEAD] // nil, or not empty
}

// NewSealer returns a Sealer with a random key.
func NewSealer() *Sealer {
	key := make([]byte, keySize)
	_, _ = rand.Read(key) // never fails
	return &Sealer{own: newAEAD(key)}
}

const keySize = 32

func newAEAD(key []byte) cipher.AEAD {
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err) // impossible: keySize is valid
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err) // impossible: a block of AES has 16 bytes
	}
	return aead
}

// Share replaces the keys that servers share: the first one encrypts, and all of them decrypt. Without any, tokens are for one process.
func (s *Sealer) Share(secrets []string) {
	if len(secrets) == 0 {
		s.shared.Store(nil)
		return
	}
	var all []cipher.AEAD
	for _, secret := range secrets {
		key, err := hkdf.Key(sha256.New, []byte(secret), nil, "bulkhead requestState", keySize)
		if err != nil {
			panic(err) // impossible: keySize is within the bounds of HKDF
		}
		all = append(all, newAEAD(key))
	}
	s.shared.Store(&all)
}

// Seal returns a token with a State. Open needs the same binding.
func (s *Sealer) Seal(state State, binding []byte) (string, error) {
	text, err := rawjson.Marshal(state)
	if err != nil {
		return "", err
	}
	by, aead := byte(byServer), s.own
	if shared := s.shared.Load(); shared != nil && state.Approval == nil {
		by, aead = byShared, (*shared)[0]
	}
	token := base64.RawURLEncoding.EncodeToString(aead.Seal([]byte{by}, nil, text, binding))
	if len(token) > maxToken {
		return "", errors.New("the state is too large")
	}
	return token, nil
}

// Open returns the State in a token of Seal. The error is errToken, or ErrExpired with the State that has expired.
func (s *Sealer) Open(token string, binding []byte, now time.Time) (State, error) {
	var state State
	if len(token) > maxToken || strings.ContainsAny(token, "\r\n") { // the decoder skips line breaks
		return state, errToken
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(sealed) < 1 {
		return state, errToken
	}
	text, err := s.decrypt(sealed[0], sealed[1:], binding)
	if err != nil || json.Unmarshal(text, &state) != nil {
		return State{}, errToken
	}
	if a := state.Approval; a != nil {
		if a.ID == "" || sealed[0] != byServer {
			return State{}, errToken // Seal makes no such token
		}
		a.Expires = state.Expires
	}
	if now.UnixMilli() >= state.Expires {
		return state, ErrExpired
	}
	return state, nil
}

func (s *Sealer) decrypt(by byte, sealed, binding []byte) ([]byte, error) {
	switch shared := s.shared.Load(); {
	case by == byServer:
		return s.own.Open(nil, nil, sealed, binding)
	case by == byShared && shared != nil:
		for _, aead := range *shared {
			if text, err := aead.Open(nil, nil, sealed, binding); err == nil {
				return text, nil
			}
		}
	}
	return nil, errToken
}
