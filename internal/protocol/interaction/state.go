package interaction

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
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
	// Approval is set if the call needs approval. A State with one is accepted once.
	Approval *Approval `json:"approval,omitempty"`
	Expires  int64     `json:"expires"` // in milliseconds since the Unix epoch
}

// maxToken bounds a token, in bytes. A State within the bounds of package abi is smaller: in JSON, a byte of the module's
// state can take six, and base64 adds a third.
const maxToken = (abi.MaxAskAnswers + 6*abi.MaxAskState + 64<<10) / 3 * 4

// version is the first byte of what a token encodes. It changes with the encoding.
const version = 1

// Errors of Open. errToken does not say how a token was found invalid.
var (
	errToken   = errors.New("it is not valid for this request: it is from a different request or server, or was changed")
	ErrExpired = errors.New("it has expired")
)

// Sealer encrypts and authenticates the State of a call, for a client to keep. Its key exists in memory only, so a token is
// valid for the process that made it. It is safe for concurrent use.
type Sealer struct{ aead cipher.AEAD }

// NewSealer returns a Sealer with a random key.
func NewSealer() *Sealer {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err) // impossible: 32 bytes are a valid key
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err) // impossible: a block of AES has 16 bytes
	}
	return &Sealer{aead}
}

// Seal returns a token with a State. Open needs the same binding.
func (s *Sealer) Seal(state State, binding []byte) (string, error) {
	text, err := rawjson.Marshal(state)
	if err != nil {
		return "", err
	}
	token := base64.RawURLEncoding.EncodeToString(s.aead.Seal([]byte{version}, nil, text, binding))
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
	if err != nil || len(sealed) < 1 || sealed[0] != version {
		return state, errToken
	}
	text, err := s.aead.Open(nil, nil, sealed[1:], binding)
	if err != nil || json.Unmarshal(text, &state) != nil {
		return State{}, errToken
	}
	if a := state.Approval; a != nil {
		if a.ID == "" {
			return State{}, errToken // Seal is called with an ID
		}
		a.Expires = state.Expires
	}
	if now.UnixMilli() >= state.Expires {
		return state, ErrExpired
	}
	return state, nil
}
