// Command cairn is the memory server and everything that talks to it.
package main

func main() {}
