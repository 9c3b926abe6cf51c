package engine

const childVariable = "HERMES_ENGINE_TEST_CHILD"

func childMain(string) int { return 0 }
