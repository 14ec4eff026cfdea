package oauth

import (
	"bytes"
	"crypto/sha256"
	"sync"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/bearer"
)

// Bounds of each of the two parts of a cache.
const (
	maxCached      = 2048     // tokens
	maxCachedBytes = 16 << 20 // of decoded claims
)

type digest [sha256.Size]byte

func digestOf(token string) digest { return sha256.Sum256([]byte(token)) }

// verified is the result for a token whose signature was verified.
type verified struct {
	access     bearer.Access
	audience   []string
	lacksScope bool // whether it lacks a scope that the server requires; no such token is in the cache
	issuer     *issuer
	keys       digest // keySet.digest at that time
	size       int    // see sizeOf
}

// sizeOf returns about as many bytes as claims take when they are decoded: a short member of an object takes far more than its text.
func sizeOf(claims []byte) int {
	const value = 256 // of a map with one member, most of all
	return len(claims) + value*(bytes.Count(claims, []byte(":"))+bytes.Count(claims, []byte(",")))
}

// holds reports whether the result is still that of another verification: the token has not expired, and its issuer has the same keys.
func (v *verified) holds(now time.Time) bool {
	keys := v.issuer.current(now)
	return now.Before(v.access.Expires) && keys != nil && keys.digest == v.keys
}

// cache has the results for the tokens that were used last, by their digests. Only valid tokens get into it, so that others displace none.
// When the young part is full, it becomes the old one, whose results are dropped unless they are used again.
type cache struct {
	mu         sync.Mutex
	young, old map[digest]*verified
	size       int // of young
}

func (c *cache) get(d digest) *verified {
	c.mu.Lock()
	defer c.mu.Unlock()
	if v := c.young[d]; v != nil {
		return v
	}
	v := c.old[d]
	if v != nil {
		c.add(d, v)
	}
	return v
}

func (c *cache) put(d digest, v *verified) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(d, v)
}

func (c *cache) add(d digest, v *verified) {
	if c.young == nil || len(c.young) >= maxCached || c.size+v.size > maxCachedBytes {
		c.old, c.young, c.size = c.young, make(map[digest]*verified), 0
	}
	if before := c.young[d]; before != nil {
		c.size -= before.size
	}
	c.young[d] = v
	c.size += v.size
}
