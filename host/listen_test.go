package host

import (
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A server that was killed may have its address for a moment.
func TestListenWaitsForAddress(t *testing.T) {
	t.Parallel()
	for name, free := range map[string]bool{"freed while it waits": true, "in use for longer": false} {
		t.Run(name, func(t *testing.T) {
			other, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer other.Close()
			synctest.Test(t, func(t *testing.T) {
				if free {
					time.AfterFunc(addressPatience/2, func() { other.Close() })
				}
				l, err := listenWhenFree(t.Context(), other.Addr().String())
				switch {
				case free && err != nil:
					t.Error(err)
				case free:
					l.Close()
				case err == nil || !strings.Contains(err.Error(), "remedy"):
					t.Errorf("got %v", err)
				}
			})
		})
	}
}
