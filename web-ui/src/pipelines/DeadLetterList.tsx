/** Dead letters as rows that open: cause first, then everything that was kept. */
import { Button } from "../ui/Button";
import { Empty, ErrorNote, Loading } from "../ui/Notes";
import { DeadLetterRow } from "./DeadLetterRow";
import { useDeadLetters, useDiscard } from "./useDeadLetters";

export function DeadLetterList({ pipeline, operator }: { pipeline: string; operator: string | undefined }) {
  const list = useDeadLetters(pipeline, operator);
  const discard = useDiscard(pipeline);
  if (list.isPending) return <Loading what="dead letters" />;
  if (list.isError) {
    return (
      <div className="p-4">
        <ErrorNote error={list.error} onRetry={() => void list.refetch()} />
      </div>
    );
  }
  const letters = list.data.pages.flatMap((page) => page.dead_letters);
  if (letters.length === 0) {
    return <Empty title="No dead letters">Every event so far was handled, or is still being retried.</Empty>;
  }
  return (
    <>
      <ul>
        {letters.map((letter) => (
          <DeadLetterRow key={letter.id} letter={letter} onDiscard={() => discard(letter.id)} />
        ))}
      </ul>
      {list.hasNextPage && (
        <div className="border-t border-line p-3">
          <Button isDisabled={list.isFetchingNextPage} onPress={() => void list.fetchNextPage()}>
            Show more
          </Button>
        </div>
      )}
    </>
  );
}
