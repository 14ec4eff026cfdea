package oauth

import (
	"crypto/sha256"
	"sync"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/bearer"
)

// maxCached bounds each of the two parts of a cache.
const maxCached = 2048

type digest [sha256.Size]byte

func digestOf(token string) digest { return sha256.Sum256([]byte(token)) }

// verified is the result for a token whose signature was verified.
type verified struct {
	access   bearer.Access
	audience []string
	issuer   *issuer
	keys     *keySet // of the issuer at that time
}

// holds reports whether the result is still that of another verification: the token has not expired, and its issuer has the same keys.
func (v *verified) holds(now time.Time) bool {
	return now.Before(v.access.Expires) && v.issuer.current(now) == v.keys
}

// cache has the results for the tokens that were used last, by their digests. Only valid tokens get into it, so that others displace none.
// When the young part is full, it becomes the old one, whose results are dropped unless they are used again.
type cache struct {
	mu         sync.Mutex
	young, old map[digest]*verified
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
	if len(c.young) >= maxCached || c.young == nil {
		c.old, c.young = c.young, make(map[digest]*verified)
	}
	c.young[d] = v
}
