# The same verbs for those who type make; the lines live in ./run.
.PHONY: all test long bench check docs clean
all:
	./run
test long bench check docs clean:
	./run $@
