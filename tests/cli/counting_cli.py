"""``rollfilm`` with the counting environment in place of the tasks: counting_cli.py SECONDS_PER_STEP WORDS..."""

import sys
import time

import rollfilm
import rollfilm.envs
from counting_env import CountingVectorEnv, counting_policy
from rollfilm.cli import run

seconds_per_step = float(sys.argv.pop(1))


class SlowCountingEnv(CountingVectorEnv):
    def step(self, actions):
        time.sleep(seconds_per_step)
        return super().step(actions)


def make(task, *, num_envs, cameras, **options):
    return SlowCountingEnv(num_envs, cameras, lengths=(3, 4, 50), contrast=5, hopeless=task == "hopeless")


rollfilm.make = make
rollfilm.envs.expert_for = lambda env: counting_policy
sys.exit(run())
