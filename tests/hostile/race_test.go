package hostile

// swapVariable names the folder in which this process, which is then the second one of a race, swaps links.
const swapVariable = "HOSTILE_SWAP"

func swapForever(dir string) {}
