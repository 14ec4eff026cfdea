package objects

// CheckNewPath exports checkNewPath.
var CheckNewPath = checkNewPath
