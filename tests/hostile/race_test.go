//go:build unix

package hostile

import (
	"os"
	"path/filepath"
	"time"
)

// swapVariable is the environment variable that makes this executable run swapForever. Its value is the argument dir.
const swapVariable = "HOSTILE_SWAP"

// swapForever alternately points the link work/swapped to work/real and to outside, until the process is killed, or ten
// minutes have passed.
func swapForever(dir string) {
	name, next := filepath.Join(dir, "work", "swapped"), filepath.Join(dir, "work", "next")
	for end := time.Now().Add(10 * time.Minute); time.Now().Before(end); {
		for _, target := range []string{"real", "../outside"} {
			if os.Symlink(target, next) != nil || os.Rename(next, name) != nil {
				os.Exit(1)
			}
		}
	}
	os.Exit(0)
}
