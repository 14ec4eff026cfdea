package hostile

import (
	"os"
	"path/filepath"
	"time"
)

// swapVariable names the folder in which this process, which is then the second one of a race, swaps links.
const swapVariable = "HOSTILE_SWAP"

// swapForever makes work/swapped lead to work/real and to outside in turns, until it is killed, or for as long
// as a test may last.
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
